#include "tools/gpu_kit/process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice::gpu_kit {
namespace {

using Clock = std::chrono::steady_clock;

// Kept of the output: this much of its beginning, and as much of its end.
constexpr size_t kKept = size_t{4} << 20;

// The process groups that run.
std::mutex groups_mutex;
std::set<pid_t> groups;

class RunningGroup {
 public:
  explicit RunningGroup(pid_t group) : group_(group) {
    const std::lock_guard lock(groups_mutex);
    groups.insert(group_);
  }
  ~RunningGroup() {
    const std::lock_guard lock(groups_mutex);
    groups.erase(group_);
  }
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;

 private:
  pid_t group_;
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> Merged(const Environment& environment) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (environment.count(text.substr(0, text.find('='))) == 0) {
      all.push_back(text);
    }
  }
  for (const auto& [name, value] : environment) {
    all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) {
    pointers.push_back(string.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Starts `command` in a process group of its own, writing to `output`.
// Returns what posix_spawn does: 0, or an error number.
int Spawn(std::vector<std::string> command,
          const Environment& environment,
          int output,
          pid_t* child) {
  std::vector<std::string> variables = Merged(environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_adddup2(&files, output, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Signals that this program waits for (main.cc) are blocked in it.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int error =
      posix_spawnp(child, command[0].c_str(), &files, &attributes,
                   Pointers(command).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Appends what can be read now; false at the end of the file.
bool ReadSome(int descriptor, std::string* output) {
  char buffer[65536];
  const ssize_t got = read(descriptor, buffer, sizeof(buffer));
  if (got > 0) output->append(buffer, static_cast<size_t>(got));
  if (output->size() > 4 * kKept) {
    output->replace(kKept, output->size() - 2 * kKept, "\n[...]\n");
  }
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// A driver may keep a process for a while, or for good.
void WaitForKilled(pid_t child) {
  const auto begin = Clock::now();
  while (waitpid(child, nullptr, WNOHANG) == 0 && SecondsSince(begin) < 10) {
    poll(nullptr, 0, 5);
  }
}

}  // namespace

void KillAllProcesses() {
  const std::lock_guard lock(groups_mutex);
  for (const pid_t group : groups) {
    kill(-group, SIGKILL);
  }
}

std::string ProcessResult::Ending() const {
  if (!not_started.empty()) return "not started: " + not_started;
  if (timed_out)
    return fmt::format("stopped after its limit, {:.0f} s", seconds);
  if (signal != 0) {
    return fmt::format("ended by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exit status {}", exit_status);
}

ProcessResult RunProcess(const std::vector<std::string>& command,
                         const Environment& environment,
                         double limit_seconds) {
  ProcessResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.not_started = std::strerror(errno);
    return result;
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);  // our end only
  const auto begin = Clock::now();
  pid_t child = 0;
  const int error = Spawn(command, environment, ends[1], &child);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    result.not_started =
        fmt::format("{}: {}", command[0], std::strerror(error));
    return result;
  }
  const RunningGroup group(child);
  // A process that it started may keep the pipe open after it has ended, so
  // both are looked at.
  int status = 0;
  bool open = true;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (SecondsSince(begin) > limit_seconds) {
      result.timed_out = true;
      kill(-child, SIGKILL);
      WaitForKilled(child);
      break;
    }
    pollfd wanted = {open ? ends[0] : -1, POLLIN, 0};
    poll(&wanted, 1, 20);
    if (wanted.revents != 0) open = ReadSome(ends[0], &result.output);
  }
  kill(-child, SIGKILL);
  size_t before = 0;
  do {
    before = result.output.size();
    ReadSome(ends[0], &result.output);
  } while (result.output.size() != before);
  close(ends[0]);
  result.seconds = SecondsSince(begin);
  if (result.timed_out) return result;
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace sluice::gpu_kit
