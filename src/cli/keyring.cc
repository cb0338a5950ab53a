#include "cli/keyring.h"

#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

// As Helm looks for it; GnuPG 2.1 and later keep keys in pubring.kbx. An empty variable counts as none: with
// it the current directory, which others may have filled, would say which keys to trust.
Result<std::string> gnupg_keyring(Machine& machine) {
  const std::string given = machine.environment("GNUPGHOME").value_or("");
  const std::string home = machine.environment("HOME").value_or("");
  if (given.empty() && home.empty())
    return error(ErrorKind::Usage, "--keyring is missing").with_hint("name a file of keys");
  const Path directory = given.empty() ? Path(home) / ".gnupg" : Path(given);
  for (const char* const name : {"pubring.gpg", "pubring.kbx"})
    if (machine.files.exists(directory / name)) return (directory / name).string();
  return error(ErrorKind::NotFound, "there is no keyring {}", (directory / "pubring.gpg").string())
      .with_because("without --keyring the keys of GnuPG count")
      .with_hint("name the publisher's keys: --keyring FILE, which gpg --export KEY >FILE writes");
}

}  // namespace

Result<std::shared_ptr<const trust::Keyring>> read_keyring(Machine& machine, std::string file) {
  if (file.empty()) {
    MIST_TRY(file, gnupg_keyring(machine));
  }
  Result<std::string> bytes = machine.files.read(file, trust::kMaxKeyringBytes);
  if (!bytes) return std::move(bytes).error().with_frame("while reading the keyring");
  const crypto::Digest digest = crypto::sha256(*bytes);
  return std::make_shared<const trust::Keyring>(
      trust::Keyring{.file = std::move(file), .bytes = *std::move(bytes), .digest = digest});
}

Result<std::shared_ptr<const trust::Keyring>> demanded_keyring(const Invocation& invocation,
                                                               Machine& machine) {
  std::shared_ptr<const trust::Keyring> none;
  if (find_flag(invocation.command(), kVerifyChartFlag.name) == nullptr) return none;
  if (!invocation.enabled(kVerifyChartFlag.name)) {
    if (!invocation.has(kKeyringFlag.name)) return none;
    return error(ErrorKind::Usage, "--keyring goes with --verify")
        .with_hint(
            "add --verify; for all charts of a repository, write a rule in trust.yaml (docs/trust.md)");
  }
  return read_keyring(machine, std::string(invocation.text(kKeyringFlag.name)));
}

}  // namespace mist::cli
