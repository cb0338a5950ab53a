#pragma once
// A bounds-checked view of a guest's linear memory. Addresses and lengths come from the guest and may be
// anything. A view is good until guest code runs again (memory.grow may move it). One thread.

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace mist::wasm {

class GuestMemory {
 public:
  GuestMemory() = default;
  explicit GuestMemory(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t size() const { return bytes_.size(); }
  bool has(std::uint64_t address, std::uint64_t length) const {
    return address <= bytes_.size() && length <= bytes_.size() - address;
  }

  std::optional<std::span<std::byte>> bytes(std::uint64_t address, std::uint64_t length) const {
    if (!has(address, length)) return std::nullopt;
    return bytes_.subspan(address, length);
  }
  std::optional<std::string_view> text(std::uint64_t address, std::uint64_t length) const {
    if (!has(address, length)) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + address, length);
  }

  /// Little-endian, at any alignment, as WebAssembly has it (and every host that Wasmtime compiles for here).
  template <typename T>
  std::optional<T> get(std::uint64_t address) const {
    static_assert(std::is_integral_v<T>);
    if (!has(address, sizeof(T))) return std::nullopt;
    T value{};
    std::memcpy(&value, bytes_.data() + address, sizeof value);
    return value;
  }
  template <typename T>
  [[nodiscard]] bool put(std::uint64_t address, std::type_identity_t<T> value) const {
    static_assert(std::is_integral_v<T>);
    if (!has(address, sizeof(T))) return false;
    std::memcpy(bytes_.data() + address, &value, sizeof value);
    return true;
  }
  [[nodiscard]] bool put_text(std::uint64_t address, std::string_view text) const {
    if (!has(address, text.size())) return false;
    if (!text.empty()) std::memcpy(bytes_.data() + address, text.data(), text.size());
    return true;
  }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace mist::wasm
