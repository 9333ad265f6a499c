#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/framework/program/program.h"
#include "sluice/nn/initializer.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// The program that gives parameters their first values. While it exists, the
// layers and optimizers that its thread makes add to it; of several, to the
// latest. Run it once in the scope of the training:
//
//   nn::Startup startup;
//   const Var logits = nn::Fc(nn::Fc(image, 64, {.act = "relu"}), 10);
//   ...
//   executor.Run(startup, {}, {}, &scope);
//
// Belongs to the thread that made it, which must also destroy it. Others may
// run it once it is finished.
class SLUICE_API Startup : public Program {
 public:
  Startup();
  ~Startup();
  Startup(const Startup&) = delete;
  Startup& operator=(const Startup&) = delete;

  // The latest of this thread. Raises FailedPrecondition, with `location`, when
  // there is none; `asker` is what needs one.
  static Startup& Current(std::string_view asker,
                          const SourceLocation& location);
  // Returns `key`_0, then `key`_1 and so on, without names that `program` has.
  std::string Generate(const std::string& key, const Program& program);

 private:
  std::map<std::string, int> counts_;
  Startup* outer_;
};

// How a parameter is made.
struct ParamAttr {
  // Layers whose parameters have the same name share it; empty: a new name.
  std::string name = {};
  Initializer initializer = {};  // empty: the layer's default
  bool trainable = true;         // whether it gets a gradient
};

// What layers are written with: it makes parameters in the program of an input
// and their first values in the current Startup, and appends ops. Names are
// those of Python's LayerHelper, so programs and checkpoints of both agree.
//
//   Var ScaleShift(const Var& x, SourceLocation at = SourceLocation::Here()) {
//     nn::LayerHelper layer("scale_shift", x, "", at);
//     const Var w = layer.Parameter({}, {x.dims()[1]}, x.dtype(), {});
//     return layer.Append("elementwise_mul", {{"X", {x.name()}},
//                                             {"Y", {w.name()}}});
//   }
class SLUICE_API LayerHelper {
 public:
  // `name` replaces the made-up `type`_0. Raises FailedPrecondition without a
  // current Startup or for an input without a program.
  LayerHelper(std::string_view type,
              const Var& input,
              const std::string& name,
              const SourceLocation& location);
  // For what has no input.
  LayerHelper(std::string_view type,
              Program& program,
              const std::string& name,
              const SourceLocation& location);

  const std::string& name() const { return name_; }
  Program& program() const { return program_; }
  const SourceLocation& location() const { return location_; }

  // Makes the parameter <name>.w_0, or returns the existing one of the name in
  // `attr`. Without an initializer, `first` counts, and without both Xavier.
  // Raises InvalidArgument for an unknown size, and for an existing parameter
  // of another shape or dtype.
  Var Parameter(const ParamAttr& attr,
                const DDim& dims,
                DType dtype,
                const Initializer& first = {});
  // The same for <name>.b_0, which starts with zeros. Returns an invalid Var
  // for no `attr`.
  Var Bias(const std::optional<ParamAttr>& attr, const DDim& dims, DType dtype);
  // A variable of the scope that gets no gradient, such as a running mean.
  Var Persistable(const std::string& name,
                  const DDim& dims,
                  DType dtype,
                  const Initializer& first,
                  bool trainable = false);
  // The same, called <key>_0.
  Var State(const std::string& key,
            const DDim& dims,
            DType dtype,
            const Initializer& first) {
    return Persistable(startup_.Generate(key, program_), dims, dtype, first);
  }
  // Appends an op and returns its first output; input arguments that name ""
  // are left out.
  Var Append(std::string_view type,
             const Program::ArgList& inputs,
             AttributeMap attributes = {},
             Program::ArgList outputs = {});
  // Applies an op with input X and output Out, such as "relu"; "" is none.
  Var Activate(const Var& x, const std::string& act);

 private:
  Program& program_;
  Startup& startup_;
  SourceLocation location_;
  std::string name_;
};

}  // namespace sluice::nn
