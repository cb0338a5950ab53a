#include "encoding/yaml_reader.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "base/text.h"
#include "encoding/go_number.h"
#include "encoding/yaml_error.h"

namespace mist::encoding {
namespace {

/// Limit of bytes that aliases copy. go-yaml shares strings between copies and so needs no such limit.
constexpr std::uint64_t kMaxCopiedBytes = std::uint64_t{100} << 20;

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}
std::string_view text_of(const yaml_char_t* text, std::size_t length) {
  return {reinterpret_cast<const char*>(text), length};
}

Position position_of(yaml_mark_t mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

/// go-yaml's allowedAliasRatio: nearly everything may come from aliases in small documents, 10% in large
/// ones.
double allowed_alias_ratio(std::uint64_t operations) {
  constexpr double kLow = 400'000, kHigh = 4'000'000;
  const auto count = static_cast<double>(operations);
  if (count <= kLow) return 0.99;
  if (count >= kHigh) return 0.10;
  return 0.99 - 0.89 * ((count - kLow) / (kHigh - kLow));
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return escape_controls(text.size() <= kMost ? text : text.substr(0, kMost));
}

/// "!!int" for "tag:yaml.org,2002:int", as people write it.
std::string short_tag(std::string_view tag) {
  constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  return tag.starts_with(kPrefix) ? "!!" + shown(tag.substr(kPrefix.size())) : shown(tag);
}

const Value* find_non_finite(const Value& value) {
  if (value.kind() == Value::Kind::Double) return std::isfinite(value.as_double()) ? nullptr : &value;
  if (value.is_array()) {
    for (const Value& item : value.as_array())
      if (const Value* found = find_non_finite(item)) return found;
  } else if (value.is_object()) {
    for (const Value::Member& member : value.as_object())
      if (const Value* found = find_non_finite(member.value)) return found;
  }
  return nullptr;
}

constexpr std::string_view kMergeWantsMapping = "\"<<\" takes a mapping, an alias of one, or a list of those";

}  // namespace

Error YamlReader::at(yaml_mark_t mark, std::string message, std::string hint) const {
  return yaml_error_at(source_, mark, std::move(message), std::move(hint));
}

Error YamlReader::too_deep(yaml_mark_t mark) const {
  return at(mark, fmt::format("the document nests more than {} levels deep", options_.max_depth));
}

void YamlReader::begin_document() {
  anchors_.clear();
  operations_ = 1;  // go-yaml counts the document too
  aliased_ = bytes_ = copied_ = depths_ = 0;
  has_content_ = has_non_finite_ = false;
}

Result<Value> YamlReader::end_document() {
  Value root = builder_.take_root();
  if (has_non_finite_) {
    if (const Value* found = find_non_finite(root)) {
      Error result = error(ErrorKind::Invalid, "JSON has no {}",
                           std::isnan(found->as_double()) ? "NaN" : "infinite numbers");
      result.where = source_.at(found->position().line, found->position().column);
      result.hint = "put quotes around it if it is text";
      return result;
    }
  }
  return root;
}

Status YamlReader::event(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_SCALAR_EVENT:
      return scalar(event);
    case YAML_ALIAS_EVENT:
      return alias(event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
      return begin_collection(event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return end_collection();
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
  }
  return error(ErrorKind::Internal, "the YAML parser sent an event that doesn't belong into a document");
}

Status YamlReader::check_all_limits(yaml_mark_t mark) const {
  if (aliased_ > 100 && operations_ > 1000 &&
      static_cast<double>(aliased_) / static_cast<double>(operations_) > allowed_alias_ratio(operations_))
    return at(mark, "the document's aliases expand to far more than its own text",
              "write out what the aliases stand for, or split the document");
  if (operations_ > kMaxValues)
    return at(mark, fmt::format("the document has more than {} keys and values", kMaxValues),
              "split the document");
  if (depths_ > kMaxDepths)
    return at(mark, "the document is too large for how deep it nests", "split the document, or nest it less");
  if (copied_ > kMaxCopiedBytes)
    return at(mark, "the document's anchors and aliases expand to more than 100 MiB",
              "write out what the aliases stand for, or split the document");
  return {};
}

void YamlReader::add(Value value, int height) {
  builder_.value(std::move(value));
  added(height);
}

void YamlReader::added(int height) {
  has_content_ = true;
  if (frames_.empty()) return;
  Frame& frame = frames_.back();
  frame.height = std::max(frame.height, height);
  frame.expect = Expect::Key;
}

bool YamlReader::has_bang_tag(const yaml_event_t& event) const {
  // libyaml doesn't tell `! 12` from `12`. Only properties make a scalar that isn't text longer than its
  // value.
  if (event.end_mark.index - event.start_mark.index == event.data.scalar.length) return false;
  const std::size_t start = source_.offset(event.start_mark.line + 1, event.start_mark.column + 1);
  const std::size_t end = source_.offset(event.end_mark.line + 1, event.end_mark.column + 1);
  std::string_view text = source_.text().substr(start, std::max(start, end) - start);
  constexpr std::string_view kBlank = " \t\r\n";
  while (!text.empty()) {
    const std::size_t word = text.find_first_of(kBlank);
    if (text.starts_with('!')) return word == 1;
    if (!text.starts_with('&') && !text.starts_with('#')) return false;
    text.remove_prefix(std::min(text.size(), text.starts_with('#') ? text.find_first_of("\r\n") : word));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlank)));
  }
  return false;
}

bool YamlReader::resolve(const yaml_event_t& event, Resolved& out) const {
  const auto& scalar = event.data.scalar;
  const std::string_view text = text_of(scalar.value, scalar.length);
  if (scalar.tag != nullptr) {
    out = resolve_tagged(text_of(scalar.tag), text);
    return true;
  }
  return scalar.plain_implicit != 0 && scalar.style == YAML_PLAIN_SCALAR_STYLE && resolve_plain(text, out) &&
         !has_bang_tag(event);
}

Position YamlReader::place_of(yaml_mark_t start) const {
  const bool below_its_key = expects(Expect::Value) && frames_.back().key.line < start.line;
  return position_of(below_its_key ? frames_.back().key : start);
}

/// The common case: a scalar without anchor that means its own text.
Status YamlReader::text(const yaml_event_t& event) {
  const std::string_view text = text_of(event.data.scalar.value, event.data.scalar.length);
  if (expects(Expect::Key)) return key(text, event.start_mark);
  builder_.text(text, place_of(event.start_mark));
  added(0);
  return {};
}

Status YamlReader::scalar(const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  const std::string_view text = text_of(scalar.value, scalar.length);
  const bool is_key = expects(Expect::Key);
  if (is_key && text == "<<" && (scalar.plain_implicit || text_of(scalar.tag) == kMergeTag)) {
    frames_.back().expect = Expect::MergeValue;
    frames_.back().key = event.start_mark;
    return {};
  }
  if (in_merge()) return at(event.start_mark, std::string(kMergeWantsMapping));

  ++operations_;
  depths_ += frames_.size();
  bytes_ += sizeof(Value) + scalar.length;
  MIST_TRY_VOID(check_limits(event.start_mark));
  const bool has_anchor = scalar.anchor != nullptr;
  Resolved resolved;
  if (!resolve(event, resolved)) {
    if (!has_anchor) return this->text(event);
    resolved = {.value = Value(text)};
  }
  if (resolved.fault == ScalarFault::WrongTag)
    return at(event.start_mark,
              fmt::format("\"{}\" isn't what its tag {} says", shown(text), short_tag(text_of(scalar.tag))),
              "remove the tag, or correct the value");
  if (resolved.fault == ScalarFault::BadBase64)
    return at(event.start_mark, "a !!binary value must be base64", "correct the value, or remove the tag");
  resolved.value.set_position(place_of(event.start_mark));
  if (has_anchor) {
    Anchor anchor{.complete = true, .is_scalar = true, .is_mapping = false, .value = {}, .scalar = resolved};
    anchor.operations = 1;
    anchor.bytes = sizeof(Value) + scalar.length;
    copied_ += anchor.bytes;
    anchors_.insert_or_assign(std::string(text_of(scalar.anchor)), std::move(anchor));
  }
  if (is_key && resolved.value.is_bool())
    warn_of_boolean_key(text, resolved.value.as_bool(), event.start_mark);
  if (is_key) return resolved_key(resolved, event.start_mark);
  if (resolved.is_float && !std::isfinite(resolved.number)) has_non_finite_ = true;
  const bool is_nothing = frames_.empty() && scalar.length == 0 && scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                          !has_anchor && scalar.tag == nullptr;
  add(std::move(resolved.value), 0);
  has_content_ = !is_nothing;
  return {};
}

// YAML 1.1, and so every tool of Kubernetes, reads these as booleans. Hardly anybody who writes them knows.
void YamlReader::warn_of_boolean_key(std::string_view text, bool value, yaml_mark_t mark) const {
  const std::string_view name = value ? "true" : "false";
  if (text == name || !options_.on_warning) return;
  options_.on_warning(
      source_.at(mark.line + 1, mark.column + 1),
      fmt::format("the key {0} is a boolean in YAML and becomes \"{1}\"; write \"{0}\" in quotes "
                  "if the text is meant",
                  shown(text), name));
}

Status YamlReader::resolved_key(const Resolved& scalar, yaml_mark_t mark) {
  const Value& value = scalar.value;
  if (value.is_string()) return key(value.as_string(), mark);
  if (scalar.is_float) return key(float_key(scalar.number), mark);
  if (value.is_bool()) return key(value.as_bool() ? "true" : "false", mark);
  if (value.is_int()) return key(std::to_string(value.as_int()), mark);
  if (value.is_null()) return at(mark, "null can't be a key", "put quotes around the key if it is text");
  return at(mark, "a number above 9223372036854775807 can't be a key", "put quotes around the key");
}

Status YamlReader::key(std::string_view name, yaml_mark_t mark) {
  Frame& frame = frames_.back();
  frame.expect = Expect::Value;
  frame.key = mark;
  if (builder_.key(name)) return {};
  if (options_.strict)
    return at(mark, fmt::format("the key \"{}\" is set twice in one mapping", shown(name)),
              "remove one of them");
  // A key that replaces what a merge brought is what merges are for.
  if (std::erase(frame.merged, builder_.member()) == 0 && options_.on_warning)
    options_.on_warning(
        source_.at(mark.line + 1, mark.column + 1),
        fmt::format("the key \"{}\" is set twice in one mapping; the last one wins", shown(name)));
  return {};
}

Status YamlReader::merge(Value mapping, yaml_mark_t mark) {
  for (Value::Member& member : mapping.as_object()) {
    if (!builder_.key(member.key) && options_.strict)
      return at(
          mark,
          fmt::format("\"<<\" brings the key \"{}\", which this mapping has already", shown(member.key)),
          "remove one of them");
    builder_.value(std::move(member.value));
    frames_.back().merged.push_back(builder_.member());
  }
  return {};
}

Status YamlReader::alias(const yaml_event_t& event) {
  const std::string_view name = text_of(event.data.alias.anchor);
  const auto found = anchors_.find(std::string(name));
  if (found == anchors_.end())
    return at(event.start_mark, fmt::format("no anchor \"&{}\" precedes this alias", shown(name)),
              "put quotes around text that begins with \"*\"");
  const Anchor& anchor = found->second;
  if (!anchor.complete)
    return at(event.start_mark, fmt::format("the anchor \"&{}\" would contain itself", shown(name)));
  const bool merging = in_merge();
  if (merging && !anchor.is_mapping) return at(event.start_mark, std::string(kMergeWantsMapping));

  operations_ += 1 + anchor.operations;
  aliased_ += anchor.operations;
  bytes_ += anchor.bytes;
  copied_ += anchor.bytes;
  MIST_TRY_VOID(check_limits(event.start_mark));
  if (expects(Expect::Key)) {
    if (!anchor.is_scalar) return at(event.start_mark, "a list or mapping can't be a key");
    return resolved_key(anchor.scalar, event.start_mark);
  }
  if (builder_.depth() + static_cast<std::size_t>(anchor.height) >
      static_cast<std::size_t>(options_.max_depth))
    return too_deep(event.start_mark);
  if (merging && frames_.back().role != Role::MergeSequence) {
    frames_.back().expect = Expect::Key;
    return merge(anchor.value, frames_.back().key);
  }
  if (anchor.is_scalar && anchor.scalar.is_float && !std::isfinite(anchor.scalar.number))
    has_non_finite_ = true;
  Value copy = anchor.is_scalar ? anchor.scalar.value : anchor.value;
  copy.set_position(place_of(event.start_mark));
  add(std::move(copy), anchor.height);
  return {};
}

Status YamlReader::begin_collection(const yaml_event_t& event) {
  const bool mapping = event.type == YAML_MAPPING_START_EVENT;
  if (expects(Expect::Key))
    return at(event.start_mark, "a list or mapping can't be a key",
              "does this text need quotes? \"{\" and \"[\" begin a mapping and a list");
  if (builder_.depth() >= static_cast<std::size_t>(options_.max_depth)) return too_deep(event.start_mark);

  Frame frame;
  frame.role = mapping ? Role::Mapping : Role::Sequence;
  if (in_merge()) {
    const bool in_list = frames_.back().role == Role::MergeSequence;
    if (in_list && !mapping) return at(event.start_mark, std::string(kMergeWantsMapping));
    if (!in_list) frame.role = mapping ? Role::MergeMapping : Role::MergeSequence;
  }
  frame.start = event.start_mark;
  frame.operations = operations_;
  frame.bytes = bytes_;
  if (frame.role != Role::MergeSequence) ++operations_;
  depths_ += frames_.size();
  bytes_ += sizeof(Value);
  MIST_TRY_VOID(check_limits(event.start_mark));
  const yaml_char_t* anchor = mapping ? event.data.mapping_start.anchor : event.data.sequence_start.anchor;
  if (anchor != nullptr) {
    frame.anchor = text_of(anchor);
    anchors_.insert_or_assign(frame.anchor, Anchor());
  }
  frames_.push_back(std::move(frame));
  if (mapping)
    builder_.begin_object();
  else
    builder_.begin_array();
  return {};
}

Status YamlReader::end_collection() {
  const Frame frame = std::move(frames_.back());
  frames_.pop_back();
  Value value = builder_.end();
  value.set_position(place_of(frame.start));
  if (!frame.anchor.empty()) {
    Anchor anchor{.complete = true,
                  .is_scalar = false,
                  .is_mapping = is_mapping(frame.role),
                  .value = {},
                  .scalar = {}};
    anchor.operations = operations_ - frame.operations;
    anchor.bytes = bytes_ - frame.bytes;
    anchor.height = frame.height + 1;
    copied_ += anchor.bytes;
    MIST_TRY_VOID(check_limits(frame.start));
    anchor.value = value;
    anchors_.insert_or_assign(frame.anchor, std::move(anchor));
  }
  if (frame.role == Role::MergeMapping || frame.role == Role::MergeSequence) {
    Frame& below = frames_.back();
    below.height = std::max(below.height, frame.height + 1);
    below.expect = Expect::Key;
    if (frame.role == Role::MergeMapping) return merge(std::move(value), below.key);
    // Earlier items of the list win, so they come last.
    for (Value& item : value.as_array() | std::views::reverse)
      MIST_TRY_VOID(merge(std::move(item), below.key));
    return {};
  }
  add(std::move(value), frame.height + 1);
  return {};
}

}  // namespace mist::encoding
