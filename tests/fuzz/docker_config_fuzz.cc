// Docker's config.json and what its helpers print: logins are found, stored and erased, or refused.
#include "registry/docker_config.h"

#include "base/text.h"
#include "encoding/json.h"
#include "one_file.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

// Prints the same whatever it is asked.
class Helper final : public ProcessRunner {
 public:
  explicit Helper(std::string_view out) : out_(out) {}
  Result<ProcessResult> run(const Command& command, const Context&) override {
    if (!command.program.starts_with("docker-credential-") || command.program.find('/') != std::string::npos)
      fail("another program", command.program);
    return ProcessResult{0, out_, ""};
  }

 private:
  const std::string out_;
};

}  // namespace

void docker_config(std::string_view bytes) {
  Input input(bytes);
  Helper helper(input.until("\n\n"));
  OneFile files("/home/alice/.docker/config.json", input.rest());
  const registry::DockerConfig config(
      {files, helper, [](std::string_view name) -> std::optional<std::string> {
         return name == "HOME" ? std::optional<std::string>("/home/alice") : std::nullopt;
       }});
  const auto check = [&](const auto& result) {
    if (!result.ok() && result.error().message.empty()) fail("an error without message", bytes);
    return result.ok();
  };
  for (const char* const host : {"registry.example", "docker.io", "localhost:5000"})
    check(config.find(host, "team/shop", Context()));
  const registry::Login login{"bob", SecretString("pass:word"), {}};
  if (!check(config.store("registry.example", login, Context()))) return;
  const auto stored = files.read("/home/alice/.docker/config.json", 0);
  if (!encoding::parse_json(*stored).ok()) fail("what was written is not JSON", *stored);
  check(config.find("registry.example", "team/shop", Context()));
  check(config.erase("registry.example", Context()));
}

}  // namespace mist::fuzz
