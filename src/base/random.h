#pragma once
// Where unpredictable bytes come from, as a constructor argument. Any thread.

#include <cstddef>
#include <span>
#include <string>

namespace mist {

class Random {
 public:
  virtual ~Random() = default;
  /// Fills `out`; never fails (a kernel without getrandom stops the process: nothing safe is left to do).
  virtual void fill(std::span<std::byte> out) = 0;

  /// `bytes` random bytes as lower-case hexadecimal.
  std::string token(std::size_t bytes);
};

/// getrandom(2).
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::byte> out) override;
};

}  // namespace mist
