#pragma once
// The entries of the audit log that name a person beside the account that made them: how they are written,
// and how they are found again when that account is deleted. Entries of years are in the log, so a phrase
// here never changes; a new one comes beside it. Pure; any thread.

#include <array>
#include <string>
#include <string_view>

#include "catalog/model.h"

namespace mist::catalog {

inline constexpr std::string_view kAuditLink = "link", kAuditSetRole = "set role",
                                  kAuditLinkIdentity = "link identity",
                                  kAuditUnlinkIdentity = "unlink identity",
                                  kAuditProveDomain = "prove domain", kAuditRemoveDomain = "remove domain",
                                  kAuditLapseDomain = "lapse domain", kAuditCreateToken = "create token";

/// Of these the whole subject is about a person: an identity, a domain, the label of a token.
inline constexpr std::array kAuditOfPersons{kAuditLinkIdentity, kAuditUnlinkIdentity, kAuditProveDomain,
                                            kAuditRemoveDomain, kAuditLapseDomain,    kAuditCreateToken};

/// The subject of kAuditLink: "etcd to https://git.example.com/ann/etcd".
std::string link_subject(std::string_view package, std::string_view url);
/// The same without the repository, which names a person: "etcd".
std::string link_subject_without_url(std::string_view subject);

/// The subject of kAuditSetRole: "ann to moderator".
std::string role_subject(std::string_view account, Role role);
/// The beginning of each role_subject() of that account, and of no other account: "ann to ".
std::string role_subject_start(std::string_view account);

}  // namespace mist::catalog
