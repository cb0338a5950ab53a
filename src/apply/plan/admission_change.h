#pragma once
// A webhook configuration that changes so that it refuses less is written before everything else: while its
// webhook doesn't answer, the server refuses what the webhook is asked about, the objects that would repair
// it among them. The server asks no webhook about webhook configurations themselves. Pure; any thread.

#include <initializer_list>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "apply/fields/difference.h"

namespace mist::apply {

/// A policy, its binding, or a webhook configuration.
bool is_of_admission(const apimachinery::GroupKind& kind);

/// Whether a rule of a policy or webhook configuration names that group, that resource (empty: any) and one
/// of the operations, as admission calls them: "CREATE".
bool has_rule_for(const Value& configuration, std::string_view group, std::string_view resource,
                  std::initializer_list<std::string_view> operations);

/// Whether `differences`, carried out on a webhook configuration, only take requests away from its webhooks
/// or let them pass when a webhook fails: failurePolicy Ignore, conditions and selectors that are added,
/// rules and whole webhooks that go. False for other kinds, and if nothing of that is among them.
bool only_lets_pass(const apimachinery::GroupKind& kind, const std::vector<FieldDifference>& differences);

}  // namespace mist::apply
