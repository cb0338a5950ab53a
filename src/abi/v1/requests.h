#pragma once
// The envelope of host requests: a request is a JSON object with "op", its answer {"ok": …} or {"error":
// {"kind", "message", "hint"}}. HostServices decides which operations there are. One thread.

#include "abi/abi.h"
#include "wasm/host_requests.h"

namespace mist::abi::v1 {

class Requests final : public wasm::RequestHandler {
 public:
  static constexpr int kMaxDepth = 32;  ///< of a request's objects and arrays

  /// `services` outlives this.
  explicit Requests(HostServices& services) : services_(services) {}

  /// Never a secret in an error that it returns: those are what ends the guest.
  Result<std::string> answer(std::string_view request) override;
  void guest_waits_with(std::uint64_t memory_bytes) override { services_.guest_waits_with(memory_bytes); }

 private:
  Result<encoding::Value> ask(std::string_view request);

  HostServices& services_;
};

}  // namespace mist::abi::v1
