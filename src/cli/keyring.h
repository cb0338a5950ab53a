#pragma once
// OpenPGP keys for Helm's provenance files, as flags name them. One thread.

#include <memory>
#include <string>

#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "trust/policy.h"

namespace mist::cli {

/// Of every command that uses a package, as Helm has them.
inline constexpr Flag kVerifyChartFlag{
    .name = "verify",
    .help = "Use the chart only if a key of --keyring signed it: its provenance file, NAME-VERSION.tgz.prov",
    .rare = true};
inline constexpr Flag kKeyringFlag{
    .name = "keyring",
    .type = FlagType::Text,
    .value = "FILE",
    .help = "With --verify: OpenPGP keys, as gpg --export writes them; without it those of GnuPG",
    .completion = Completion::File,
    .rare = true};

/// The keys in `file`; empty: where GnuPG has them. Errors: of the file, with a hint.
Result<std::shared_ptr<const trust::Keyring>> read_keyring(Machine& machine, std::string file);

/// The keys that --verify demands; null: it isn't given. Errors: Usage, as read_keyring.
Result<std::shared_ptr<const trust::Keyring>> demanded_keyring(const Invocation& invocation,
                                                               Machine& machine);

}  // namespace mist::cli
