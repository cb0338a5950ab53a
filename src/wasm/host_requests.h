#pragma once
// Requests of a guest beside WASI: the import module "mistletoe_v1", two functions by which a request and its
// answer cross the border. This file knows addresses and bounds, not the requests themselves. Nothing of
// Wasmtime: instance.cc binds it, tests call it on a plain buffer. One HostRequests belongs to one instance
// and one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "wasm/guest_memory.h"
#include "wasm/limits.h"

namespace mist::wasm {

inline constexpr std::string_view kHostModule = "mistletoe_v1";
inline constexpr std::string_view kRequestFunction = "request";    ///< (address, length) → length of answer
inline constexpr std::string_view kResponseFunction = "response";  ///< (address): copies the answer there

/// Answers the requests. Called on the guest's thread; its time doesn't count as the guest's.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// The answer to one request; both may be any bytes. Mistakes that a guest may make are answers too: an
  /// error ends the guest, and its call fails with it.
  virtual Result<std::string> answer(std::string_view request) = 0;
  /// Told before each answer: how much memory the guest has, which waits until then.
  virtual void guest_waits_with(std::uint64_t memory_bytes) { static_cast<void>(memory_bytes); }
};

class HostRequests {
 public:
  static constexpr std::uint64_t kMaxRequest = std::uint64_t{1} << 20;    ///< bytes
  static constexpr std::uint64_t kMaxTogether = std::uint64_t{16} << 20;  ///< bytes of all requests of a run
  /// Of all answers of a run, for each byte that the guest may put out: making them is the host's work, whose
  /// time counts nowhere.
  static constexpr std::uint64_t kAnswersPerOutput = 4;

  /// `handler` may be null: then every request ends the guest. `name` is what people call the guest.
  HostRequests(RequestHandler* handler, const Limits& limits, std::string name)
      : handler_(handler),
        most_(limits.requests),
        most_output_(limits.output_bytes),
        flags_(limits.flags),
        name_(std::move(name)) {}

  /// The length of the answer. An error ends the guest: Trap for an address outside its memory and for a
  /// bound, else what the handler says.
  Result<std::uint32_t> request(GuestMemory memory, std::uint64_t address, std::uint64_t length);

  /// Copies the answer to the latest request; any number of times. Trap as above, or if there was none.
  Status response(GuestMemory memory, std::uint64_t address) const;

 private:
  RequestHandler* handler_;
  std::uint64_t most_;
  std::uint64_t most_output_;  // bytes
  LimitFlags flags_;
  std::string name_;
  std::optional<std::string> answer_;
  std::uint64_t count_ = 0;
  std::uint64_t together_ = 0;
  std::uint64_t answered_ = 0;  // bytes
};

}  // namespace mist::wasm
