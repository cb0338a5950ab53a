#include "apply/reserved_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace mist::apply {

using encoding::Value;

namespace {

constexpr std::array kReserved{kPartOfLabel,          kReleaseAnnotation,     kNameLabel,
                               kVersionLabel,         kRecordLabel,           kRecordOfLabel,
                               kRevisionLabel,        kApplySetIdLabel,       kToolingAnnotation,
                               kGroupKindsAnnotation, kNamespacesAnnotation,  kCutAnnotation,
                               kHeadAnnotation,       kHeadSealAnnotation,    kLockAnnotation,
                               kStatusAnnotation,     kMessageAnnotation,     kSummaryAnnotation,
                               kFinishedAnnotation,   kAttemptAnnotation,     kInstanceLabel,
                               kHashAnnotation,       kInstanceKindAnnotation};

// In whatever case; `word` is in lower case.
bool ends_with_word(std::string_view key, std::string_view word) {
  if (key.size() < word.size()) return false;
  return std::ranges::equal(key.substr(key.size() - word.size()), word, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// "labels", "annotations", "commonLabels", …; a selector's matchLabels only reads them.
std::string_view mark_kind(std::string_view key) {
  if (key == "matchLabels") return {};
  if (ends_with_word(key, "labels")) return "label";
  return ends_with_word(key, "annotations") ? "annotation" : std::string_view();
}

// Keys below which an object names a Secret of its namespace: volumes' and cert-manager's secretName, and the
// name of secretRef, secretKeyRef, a projected volume's secret, imagePullSecrets.
bool names_a_secret(std::string_view key) {
  return ends_with_word(key, "secret") || ends_with_word(key, "secrets") ||
         ends_with_word(key, "secretref") || ends_with_word(key, "secretkeyref");
}

bool is_record_name(const Value* name) {
  return name != nullptr && name->is_string() && apply::is_record_name(name->as_string());
}

class Finder {
 public:
  std::optional<Reserved> find(const Value& value) {
    if (value.is_array()) {
      for (const Value& item : value.as_array()) {
        if (auto found = find(item)) return found;
      }
      return std::nullopt;
    }
    if (!value.is_object()) return std::nullopt;
    for (const Value::Member& member : value.as_object()) {
      path_.emplace_back(member.key);
      auto found = find_in(member.key, member.value);
      if (!found) found = find(member.value);
      if (found) return found;
      path_.pop_back();
    }
    return std::nullopt;
  }

 private:
  std::optional<Reserved> find_in(std::string_view key, const Value& value) const {
    if (const std::string_view kind = mark_kind(key); !kind.empty() && value.is_object()) {
      for (const std::string_view mark : kReserved) {
        if (const Value* set = value.find(mark))
          return Reserved{fmt::format("sets the {} {}{}, which belongs to Mistletoe", kind, mark, place()),
                          set};
      }
    }
    if (key == "type" && value.is_string() && value.as_string() == kRecordType)
      return Reserved{fmt::format("has the type {}{}, which only the records of releases have", kRecordType,
                                  path_.size() > 1 ? fmt::format(" at {}", path()) : ""),
                      &value};
    if (ends_with_word(key, "secretname") && is_record_name(&value)) return reference(value);
    if (!names_a_secret(key)) return std::nullopt;
    if (value.is_object() && is_record_name(value.find("name"))) return reference(*value.find("name"));
    if (value.is_array()) {
      for (const Value& item : value.as_array()) {
        if (item.is_object() && is_record_name(item.find("name"))) return reference(*item.find("name"));
      }
    }
    return std::nullopt;
  }

  Reserved reference(const Value& name) const {
    return {fmt::format("refers to Secret {} at {}, and Secrets of that name hold the records of releases",
                        escape_controls(name.as_string()), path()),
            &name};
  }

  // Where it isn't the object's own metadata.
  std::string place() const {
    const bool own = path_.size() == 2 && path_.front() == "metadata";
    return own ? std::string() : fmt::format(" at {}", path());
  }

  std::string path() const {
    std::string text;
    for (const std::string_view key : path_) text += fmt::format("{}{}", text.empty() ? "" : ".", key);
    return escape_controls(text);
  }

  std::vector<std::string_view> path_;  // of keys in the object
};

}  // namespace

bool is_marked_kept(const Value& object) {
  const std::string_view keep = object.string_at({"metadata", "annotations", kKeepAnnotation});
  return !keep.empty() && keep != "false";
}

bool is_kept_by_policy(const Value& object) {
  return lower_case(trim(object.string_at({"metadata", "annotations", kResourcePolicy}))) == "keep";
}

std::string_view keeping_annotation(const Value& object) {
  if (is_marked_kept(object)) return kKeepAnnotation;
  return is_kept_by_policy(object) ? "helm.sh/resource-policy: keep" : std::string_view();
}

std::string_view apply_set_of(const Value& live) {
  return live.string_at({"metadata", "labels", kPartOfLabel});
}

bool is_record_name(std::string_view name) { return name.starts_with("mistletoe."); }

bool is_record(const Value& secret) {
  const Value* const labels = secret.at_path({"metadata", "labels"});
  const bool labelled = labels != nullptr && labels->is_object() &&
                        (labels->find(kRecordLabel) != nullptr || labels->find(kRecordOfLabel) != nullptr);
  return labelled || secret.string_at("type") == kRecordType ||
         is_record_name(secret.string_at({"metadata", "name"}));
}

std::optional<Reserved> find_reserved(const Value& object) {
  if (auto found = Finder().find(object)) return found;
  if (object.string_at("kind") != "Secret" || object.string_at("apiVersion") != "v1") return std::nullopt;
  for (const std::string_view field : {"name", "generateName"}) {
    const Value* const name = object.at_path({"metadata", field});
    if (is_record_name(name))
      return Reserved{
          fmt::format("has a name that begins with \"mistletoe.\", and Secrets of that name hold the "
                      "records of releases"),
          name};
  }
  return std::nullopt;
}

}  // namespace mist::apply
