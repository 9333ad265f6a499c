#include "tests/testing/child_process.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

#include "tests/testing/program_option.h"
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice::testing {
namespace {

using Body = int (*)();

std::map<std::string, Body, std::less<>>& Bodies() {
  static std::map<std::string, Body, std::less<>> bodies;
  return bodies;
}

Body chosen = nullptr;

const ProgramOption kChild("child", [](std::string_view name) -> std::string {
  const auto found = Bodies().find(name);
  if (found == Bodies().end()) return "there is no such child";
  chosen = found->second;
  return "";
});

// Removes GoogleTest's variables, e.g. for shards, which are for the parent.
std::vector<std::string> EnvironmentWith(std::vector<std::string> variables) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced =
        std::any_of(variables.begin(), variables.end(), [&](const auto& other) {
          return other.substr(0, other.find('=')) == name;
        });
    if (!name.starts_with("GTEST_") && !replaced) variables.emplace_back(text);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Fail(const char* what) {
  throw std::runtime_error(std::string("a child process: ") + what);
}

}  // namespace

ChildBody::ChildBody(const char* name, Body body) {
  Bodies()[name] = body;
}

std::optional<int> RunChildBody() {
  if (chosen == nullptr) return std::nullopt;
  try {
    return chosen();
  } catch (const std::exception& error) {
    std::printf("uncaught: %s\n", error.what());
    return 1;
  }
}

ChildProcess::ChildProcess(std::vector<std::string> arguments,
                           const std::vector<std::string>& environment) {
  // A dead child must not end the tests.
  static_cast<void>(signal(SIGPIPE, SIG_IGN));
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0) Fail("no pipe");
  if (pipe2(output, O_CLOEXEC) != 0) Fail("no pipe");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output[1], STDERR_FILENO);
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
  const std::string path(program,
                         static_cast<size_t>(std::max<ssize_t>(length, 0)));
  arguments.insert(arguments.begin(), path);
  auto variables = EnvironmentWith(environment);
  const int error =
      posix_spawn(&process_, path.c_str(), &files, nullptr,
                  Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  to_child_ = input[1];
  from_child_ = output[0];
  if (error != 0) Fail("cannot be started");
}

ChildProcess::~ChildProcess() {
  Kill();
  close(to_child_);
  close(from_child_);
}

void ChildProcess::Say(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  if (write(to_child_, text.data(), text.size()) < 0) Fail("does not listen");
}

bool ChildProcess::Read(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  pollfd ready{from_child_, POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) <=
      0) {
    return true;
  }
  char buffer[4096];
  const ssize_t bytes = read(from_child_, buffer, sizeof(buffer));
  if (bytes <= 0) return false;
  output_.append(buffer, static_cast<size_t>(bytes));
  return true;
}

bool ChildProcess::WaitFor(std::string_view text, Seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (output_.find(text) == output_.npos) {
    if (Clock::now() >= deadline || !Read(deadline)) return false;
  }
  return true;
}

std::string ChildProcess::Finish(Seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (Read(deadline)) {
    if (Clock::now() < deadline) continue;
    Kill();
    return "no end after " + std::to_string(limit.count()) + " s";
  }
  // It has closed its output; it must also end soon.
  siginfo_t ended{};
  while (process_ > 0 && Clock::now() < deadline) {
    waitid(P_PID, static_cast<id_t>(process_), &ended,
           WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid != 0) return Reap();
    usleep(1000);
  }
  Kill();
  return "no end after " + std::to_string(limit.count()) + " s";
}

void ChildProcess::Kill() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  Reap();
}

std::string ChildProcess::Reap() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                           : "signal " + std::to_string(WTERMSIG(status));
}

bool CanStartItself() {
  try {
    return ChildProcess({"--gtest_list_tests"}).Finish() == "exit 0";
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace sluice::testing
