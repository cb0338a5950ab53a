#pragma once
// Seals: how a release knows its own record. The anchor holds a key, drawn when the release is born; the
// head, the seed and every revision carry an HMAC-SHA256 under it, over what they say and whose they are. So
// nobody who can't read the anchor can write a revision that is believed, and none of another release, of
// another number or of an earlier life passes for this one's. A user who may read and write the namespace's
// Secrets can (docs/formats/release.md, "Seals", says what holds then). Plain values; any thread.

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/secret.h"

namespace mist::release {

class Seals {
 public:
  /// Not known: of an anchor of which only metadata was read. Nothing may be read or written with these.
  Seals() = default;
  /// Nothing is sealed: a record of a format before 3, or one that its user vouches for.
  static Seals none();
  /// The key can't be read: no seal is believed until a new key is drawn.
  static Seals lost();
  /// `key`: 32 bytes. `first`: revisions from that number on are sealed; those before it are of a time
  /// without a key, and are believed as they are.
  static Seals with(SecretString key, int first);
  static Seals draw(Random& random, int first);

  bool known() const { return state_ != State::Unknown; }
  /// New seals can be made.
  bool has_key() const { return state_ == State::Key; }
  /// Whether what belongs to that revision needs a seal to be believed. The anchor's own parts always do.
  bool needed_for(int revision) const {
    return state_ == State::Lost || (state_ == State::Key && revision >= first_);
  }
  bool needed() const { return state_ == State::Lost || state_ == State::Key; }

  const SecretString& key() const { return key_; }
  int first() const { return first_; }

  /// Base64. `what` tells pieces apart that have the same fields; `owner` is the release. Needs a key.
  std::string make(std::string_view what, std::string_view owner,
                   std::initializer_list<std::string_view> fields) const;
  bool holds(std::string_view seal, std::string_view what, std::string_view owner,
             std::initializer_list<std::string_view> fields) const;

 private:
  enum class State : unsigned char { Unknown, None, Lost, Key };
  State state_ = State::Unknown;
  SecretString key_;
  int first_ = 0;
};

}  // namespace mist::release
