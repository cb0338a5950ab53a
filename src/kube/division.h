#pragma once
// How replicas divide the namespaces of a cluster among them: each namespace is in one of 64 slots, by its
// name, and each slot is one replica's at a time. Pure; any thread.

#include <bitset>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::kube {

/// Fixed: replicas that disagree about it would both work in one namespace.
inline constexpr std::size_t kSlots = 64;
using Slots = std::bitset<kSlots>;

/// FNV-1a-64 of the name, mod 64. Objects without a namespace have the slot of the empty name.
std::size_t slot_of(std::string_view ns);

/// The slots that one replica works on.
class Share {
 public:
  explicit Share(Slots slots) : slots_(slots) {}
  static Share all() { return Share(Slots().set()); }

  bool has(std::string_view ns) const { return slots_[slot_of(ns)]; }
  /// Of all replicas one is the first: it does what is done once in a cluster.
  bool is_first() const { return slots_[0]; }
  const Slots& slots() const { return slots_; }
  friend bool operator==(const Share&, const Share&) = default;

 private:
  Slots slots_;
};

/// "0-31 40": ascending; empty: none.
std::string to_text(const Slots& slots);
/// Errors: Invalid.
Result<Slots> slots_in(std::string_view text);

/// Which replica owns each slot. Nobody works on a slot without an owner.
class Division {
 public:
  /// As it is kept: `{"replica-a": "0-31", "replica-b": "32-63"}`; empty: nobody has any. Errors: Invalid (it
  /// can't be read, or two have one slot).
  static Result<Division> parse(std::string_view text);
  std::string text() const;

  Slots of(const std::string& replica) const;
  void set(const std::string& replica, const Slots& slots);
  Slots free() const;
  const std::map<std::string, Slots>& owners() const { return owners_; }

  /// The slots that `replica` should give up or take, so that all of `live` (it is one of them) come to have
  /// equally many, but for one slot. Others' slots are never taken, whoever they are. If everybody does this,
  /// nobody takes slots that somebody else is about to take in turn, and when it is even, nothing moves.
  struct Step {
    Slots give, take;  ///< one of them is empty
  };
  Step step(const std::string& replica, const std::set<std::string>& live) const;

 private:
  std::map<std::string, Slots> owners_;
};

}  // namespace mist::kube
