#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/run/executor.h"

namespace sluice {

// One run of a program: see Executor::Run. Used by one thread.
class Executor::Runner {
 public:
  Runner(Executor& executor, Scope* scope, const RunPlan& run_plan)
      : executor_(executor), scope_(scope), run_plan_(run_plan) {}

  // Runs the plan of `feeds` and `fetches`, and the plans of its rest; returns
  // the fetches. `name` labels the plans: "program", "block 3".
  std::vector<Tensor> Run(const Program& program,
                          const Feeds& feeds,
                          const Fetches& fetches,
                          const std::string& name);
  // Returns the plans of a run in several stretches, in the order of their
  // first runs; none for a run of a single plan.
  std::vector<NamedPlan> TakePlans() { return std::move(plans_); }

 private:
  using Values = std::map<std::string, Tensor, std::less<>>;

  // A block that is about to run, with its feeds and fetches.
  struct Block {
    std::shared_ptr<const Program> program;
    std::string name;
    Feeds feeds;
    Fetches fetches;
    Values outer;  // outer values that it returns unchanged

    Tensor* Feed(const std::string& var) {
      for (auto& [fed, tensor] : feeds) {
        if (fed == var) return &tensor;
      }
      return nullptr;
    }
  };

  // The elements of a sequence along an axis, and their number.
  struct Sequence {
    Tensor tensor;
    int64_t axis;
    int64_t size;
  };

  std::vector<Tensor> RunOne(const Plan& plan, const Feeds& feeds) const {
    return run_plan_ ? run_plan_(plan, feeds, scope_) : plan.Run(feeds, scope_);
  }
  void Note(const std::string& name, const std::shared_ptr<const Plan>& plan);
  Tensor ValueOf(const std::string& var, const Values& values) const;
  Block MakeBlock(const Program& program,
                  int index,
                  const std::vector<std::string>& outputs,
                  const Values& values) const;
  Values RunBlock(const Block& block);
  void RunBlockOp(const Program& program, const OpDesc& op, Values* values);
  std::vector<Tensor> RunIf(const Program& program,
                            const OpDesc& op,
                            const Values& values);
  std::vector<Sequence> SequencesOf(const LoopBlock& loop,
                                    const OpDesc& op,
                                    const Values& values) const;
  int64_t MaxTrips(const OpDesc& op,
                   const std::vector<Sequence>& sequences,
                   const Values& values) const;
  template <typename T>
  static void FeedOne(const std::string& var, T value, Block* block);
  Values RunIteration(const LoopBlock& loop,
                      int64_t number,
                      int64_t trips,
                      const std::vector<Tensor>& carried,
                      const std::vector<Sequence>& sequences,
                      Block* block);
  std::vector<Tensor> RunLoop(const Program& program,
                              const OpDesc& op,
                              const Values& values);

  Executor& executor_;
  Scope* scope_;
  const RunPlan& run_plan_;
  std::vector<NamedPlan> plans_;
  int depth_ = 0;  // runs in several stretches that are under way
};

}  // namespace sluice
