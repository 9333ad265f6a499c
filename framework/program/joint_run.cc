#include "sluice/framework/program/joint_run.h"

#include "sluice/framework/program/collective_ops.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::framework {

namespace {

thread_local bool t_in_one = false;

}  // namespace

JointRun::JointRun(const Program& program)
    : joint_(platform::World::Get().size() > 1 && HasCollectives(program)),
      outer_(t_in_one) {
  if (!joint_) return;
  platform::World::Get().BeginRun();
  t_in_one = true;
}

JointRun::~JointRun() {
  t_in_one = outer_;
}

void JointRun::Failed(std::string_view why) noexcept {
  if (joint_) platform::World::Get().NoteFailedRun(why);
}

bool JointRun::InOne() {
  return t_in_one;
}

}  // namespace sluice::framework
