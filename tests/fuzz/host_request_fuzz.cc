// Requests of guests to the host, one a line: every one has an answer in JSON, and secrets stay what they
// were.
#include "abi/v1/requests.h"
#include "base/event.h"
#include "encoding/json.h"
#include "package/host.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

Result<encoding::Value> found(const package::LookupAsker&, const encoding::Value& request) {
  using encoding::Value;
  if (request.string_at("namespace") == "refused") return error(ErrorKind::Forbidden, "it isn't granted");
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Secret"},
       {"metadata", Value::object({{"name", request.string_at("name")}, {"namespace", "shop"}})},
       {"data", Value::object({{"password", "c2VjcmV0"}, {"other", "bm90IGJhc2U2NA"}})}});
}

}  // namespace

void host_request(std::string_view bytes) {
  using encoding::Value;
  constexpr std::size_t kMostRequests = 50;
  NullEventSink events;
  package::Host host({{}, "shop", "web", {}}, events);
  host.answer_lookup(found, {.reference = "team/shop:1.0.0", .needs = {"*"}});
  host.answer_calls([](const Value& request, std::uint64_t) -> Result<package::CallAnswer> {
    return package::CallAnswer{.value = Value::object({{"exports", request}})};
  });
  abi::v1::Requests requests(host);
  Input input(bytes);
  for (std::size_t i = 0; i < kMostRequests && !input.empty(); ++i) {
    const std::string_view request = input.line();
    const auto answer = requests.answer(request);
    if (!answer.ok()) {
      check_error(answer.error());
      continue;
    }
    const auto value = encoding::parse_json(*answer);
    if (!value.ok() || (value->find("ok") == nullptr) == (value->find("error") == nullptr))
      fail("an answer that is none", *answer);
    const auto again = requests.answer(request);
    if (value->find("ok") != nullptr && (!again.ok() || *again != *answer) &&
        request.find("random.stream") == std::string_view::npos &&
        request.find("log") == std::string_view::npos)
      fail("the same question has another answer", request);
  }
  (void)host.take_exchanges();
}

}  // namespace mist::fuzz
