// Answers of an API server, or of whatever sits in its place: the status, then headers until an empty line,
// then the body.
#include "kube/api_status.h"

#include "base/text.h"
#include "targets.h"

namespace mist::fuzz {

void api_answer(std::string_view bytes) {
  Input input(bytes);
  http::Response response;
  response.status = static_cast<int>(input.number(2) % 600);
  for (std::string_view line = input.line(); !line.empty(); line = input.line()) {
    const auto colon = std::min(line.find(':'), line.size());
    response.headers.emplace_back(std::string(line.substr(0, colon)),
                                  std::string(line.substr(std::min(colon + 1, line.size()))));
  }
  response.body = input.rest();
  const kube::Asked asked{
      .verb = "apply", .object = "Deployment shop/api", .server = "https://server", .user = "a"};
  for (const std::string& warning : kube::warnings_of(response.headers))
    if (escape_controls(warning) != warning) fail("a warning that steers the terminal", warning);
  const auto answer = kube::decode_answer(response, asked);
  const bool good = response.status >= 200 && response.status < 300;
  if (answer.ok() && (!good || !answer->is_object())) fail("an answer that is none", response.body);
  if (!answer.ok() && answer.error().message.empty()) fail("an error without message", response.body);
  if (good) return;
  kube::correct_status(response);
  if (kube::answer_error(response, asked).message.empty()) fail("an error without message", response.body);
}

}  // namespace mist::fuzz
