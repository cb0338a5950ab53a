// The stream of a watch: it may arrive in any pieces, and means the same. The first bytes say where it is
// cut.
#include "kube/watch.h"

#include <vector>

#include "kube/line_framer.h"
#include "targets.h"
#include "testing/fake_clock.h"

namespace mist::fuzz {
namespace {

std::vector<std::string> lines_of(std::string_view text, std::string_view cuts) {
  std::vector<std::string> lines;
  kube::LineFramer framer(200);
  const auto take = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  std::size_t at = 0;
  while (!text.empty()) {
    const std::size_t size =
        cuts.empty() ? text.size() : 1 + static_cast<unsigned char>(cuts[at++ % cuts.size()]) % 40;
    if (framer.feed(text.substr(0, size), take) != kube::LineFramer::State::Open) break;
    text.remove_prefix(std::min(size, text.size()));
  }
  return lines;
}

}  // namespace

void watch(std::string_view bytes) {
  Input input(bytes);
  const std::string_view cuts = input.take(8), text = input.rest();
  const std::vector<std::string> whole = lines_of(text, {}), pieces = lines_of(text, cuts);
  // A line that is too long ends the stream where it is seen, which may be earlier in pieces.
  for (std::size_t i = 0; i < std::min(whole.size(), pieces.size()); ++i)
    if (whole[i] != pieces[i]) fail("another line", whole[i]);

  testing::FakeClock clock;
  testing::FakeRandom random;
  NullEventSink events;
  int connections = 0;
  std::size_t told = 0;
  kube::ResourceInfo pods{
      .gvk = {"", "v1", "Pod"}, .resource = "pods", .namespaced = true, .verbs = {"watch"}};
  kube::Watcher watcher(
      pods, {.verb = "watch", .object = "Pods", .server = "https://server", .user = "alice"},
      {.list = [](const kube::Watcher::PageHandler&, const Context&) -> Result<std::string> { return "1"; },
       .open = [&](const std::string&, Duration, const http::BodyPiece& piece,
                   const Context&) -> Result<http::Response> {
         if (++connections > 3) return error(ErrorKind::Forbidden, "enough");
         std::string_view left = text;
         std::size_t at = 0;
         while (!left.empty()) {
           const std::size_t size =
               cuts.empty() ? left.size() : 1 + static_cast<unsigned char>(cuts[at++ % cuts.size()]) % 40;
           if (!piece(left.substr(0, size))) break;
           left.remove_prefix(std::min(size, left.size()));
         }
         return http::Response{.status = 200};
       },
       .clock = clock,
       .random = random,
       .events = events});
  const Status status = watcher.run(
      [&](const kube::WatchEvent& event) {
        if (!event.object.is_object()) fail("an event without an object", text);
        return ++told < 1000;
      },
      Context());
  if (!status.ok() && status.error().kind != ErrorKind::Internal) check_error(status.error());
}

}  // namespace mist::fuzz
