// Runs the operator of this project, and gives it what it refuses.
#include <iostream>
#include <string>
#include <vector>

#include "eigen_ops/register.h"

#include "sluice/sluice.h"

// Whether the call is an error whose message has `words`.
template <typename Call>
bool Refuses(const std::string& words, const Call& call) {
  std::string message = "no error";
  try {
    call();
  } catch (const sluice::Error& error) {
    message = error.what();
  }
  std::cout << message << '\n';
  return message.find(words) != std::string::npos;
}

int main() {
  RegisterOperators_eigen_ops();
  RegisterOperators_eigen_ops();  // a second call does nothing

  const auto rows = sluice::Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  const auto divide = [&rows](const std::vector<float>& by) {
    const auto size = static_cast<int64_t>(by.size());
    const auto divisor = sluice::Tensor::FromVector<float>({size}, by);
    return sluice::RunOp("divide_rows", {{"X", rows}, {"Divisor", divisor}})
        .at("Out")
        .ToVector<float>();
  };
  if (divide({1, 4}) != std::vector<float>{1, 0.5, 3, 1}) {
    std::cerr << "expected 1, 0.5, 3, 1\n";
    return 1;
  }
  // What shape function and kernel say is checked, as for built-in operators.
  const bool all_refused = Refuses("must equal dim 0 of input Divisor",
                                   [&] {
                                     divide({1, 2, 3});
                                   }) &&
                           Refuses("Divisor has a zero", [&] {
                             divide({1, 0});
                           });
  return all_refused ? 0 : 1;
}
