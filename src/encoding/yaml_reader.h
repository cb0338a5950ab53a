#pragma once
// YamlReader turns libyaml's events into Values the way go-yaml v2's decoder turns them into Go values, and
// sigs.k8s.io/yaml those into JSON. It holds the state of one stream. Internal to encoding. One thread.

#include <yaml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "base/result.h"
#include "encoding/source_text.h"
#include "encoding/tree_builder.h"
#include "encoding/value.h"
#include "encoding/yaml.h"
#include "encoding/yaml_resolve.h"

namespace mist::encoding {

class YamlReader {
 public:
  YamlReader(const SourceText& source, const YamlOptions& options) : source_(source), options_(options) {}

  void begin_document();
  /// A scalar, alias, or a collection's start or end.
  Status event(const yaml_event_t& event);
  /// False for a document without content: nothing, or only comments.
  bool has_content() const { return has_content_; }
  Result<Value> end_document();

 private:
  enum class Role : std::uint8_t {
    Mapping,
    Sequence,
    MergeMapping,   // the value of "<<", or an item of its list: its members go into the mapping below
    MergeSequence,  // the list of a "<<"
  };
  /// The next thing that a mapping expects.
  enum class Expect : std::uint8_t { Key, Value, MergeValue };

  /// Bounds what 100 MB of "[1,1,1,…" may cost: a Value takes some 20 times the room of its text.
  static constexpr std::uint64_t kMaxValues = 10'000'000;
  /// Of all events' depths together. libyaml looks at every open [ and { for each token, so that 100 MB at
  /// depth 500 would take minutes; real documents of that size stay below this.
  static constexpr std::uint64_t kMaxDepths = 200'000'000;

  struct Frame {
    Role role = Role::Mapping;
    Expect expect = Expect::Key;
    yaml_mark_t start{};
    yaml_mark_t key{};  // of the last key
    std::string anchor;
    std::uint64_t operations = 0;  // the counters when it began
    std::uint64_t bytes = 0;
    int height = 0;                   // of the highest child so far
    std::vector<std::size_t> merged;  // members that came with a merge: a key may replace them
  };

  /// The node that an anchor names.
  struct Anchor {
    bool complete = false;
    bool is_scalar = false;
    bool is_mapping = false;
    Value value;      // of a collection
    Resolved scalar;  // else
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    int height = 0;
  };

  Status scalar(const yaml_event_t& event);
  Status alias(const yaml_event_t& event);
  Status begin_collection(const yaml_event_t& event);
  Status end_collection();

  /// False for what is simply its own text.
  bool resolve(const yaml_event_t& event, Resolved& out) const;
  Status text(const yaml_event_t& event);
  bool has_bang_tag(const yaml_event_t& event) const;
  void warn_of_boolean_key(std::string_view text, bool value, yaml_mark_t mark) const;
  Status resolved_key(const Resolved& scalar, yaml_mark_t mark);
  Status key(std::string_view name, yaml_mark_t mark);
  /// Of a member, the line where its key stands, which is what people look for: the key itself, if the value
  /// begins below it.
  Position place_of(yaml_mark_t start) const;
  void add(Value value, int height);
  void added(int height);
  Status merge(Value mapping, yaml_mark_t mark);
  Status check_limits(yaml_mark_t mark) const {
    // Documents without anchors, nearly all, need one look.
    if ((aliased_ | copied_) == 0 && operations_ <= kMaxValues && depths_ <= kMaxDepths) [[likely]]
      return {};
    return check_all_limits(mark);
  }
  Status check_all_limits(yaml_mark_t mark) const;
  Error at(yaml_mark_t mark, std::string message, std::string hint = {}) const;
  Error too_deep(yaml_mark_t mark) const;

  bool expects(Expect what) const {
    return !frames_.empty() && is_mapping(frames_.back().role) && frames_.back().expect == what;
  }
  static bool is_mapping(Role role) { return role == Role::Mapping || role == Role::MergeMapping; }
  bool in_merge() const {
    return !frames_.empty() && (frames_.back().role == Role::MergeSequence || expects(Expect::MergeValue));
  }

  const SourceText& source_;
  const YamlOptions& options_;
  TreeBuilder builder_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, Anchor, KeyedHash> anchors_;
  std::uint64_t operations_ = 0;  // go-yaml's decodeCount
  std::uint64_t aliased_ = 0;     // and its aliasCount
  std::uint64_t bytes_ = 0;       // of strings and nodes made so far
  std::uint64_t copied_ = 0;      // of them by anchors and aliases
  std::uint64_t depths_ = 0;
  bool has_content_ = false;
  bool has_non_finite_ = false;
};

}  // namespace mist::encoding
