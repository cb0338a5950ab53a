#pragma once
// Content of Secrets that a package looked up, wherever it put that: hidden wherever it would be printed, in
// objects, errors and progress. Values are known while a package is rendered; later the record says which
// fields hold them (release::Drawn::looked_up). Values; any thread.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/secret.h"
#include "base/text_mask.h"
#include "release/record.h"
#include "render/drawn.h"

namespace mist::render {

class HiddenValues {
 public:
  static constexpr std::string_view kMask = "***";
  static constexpr std::string_view kMaskBefore = "*** (before)";
  static constexpr std::string_view kMaskAfter = "*** (after)";

  /// As package::values_of_secrets() gives them.
  void add(const std::map<std::string, SecretString>& values);
  /// The whole of each field.
  void add(const std::vector<release::DrawnField>& fields, const ObjectView& objects);
  /// Those that the revision has recorded.
  void add(const release::Revision& revision);

  bool empty() const { return whole_.empty(); }
  /// Whether a value that is neither object nor list is, or contains, one of them, encoded or not.
  bool hides(const encoding::Value& leaf) const;
  /// Puts kMask in the place of each value below `value` that it hides. The object's name stays.
  void mask(encoding::Value& value) const;
  /// The same for two states of one object: equal values stay equal, and others differ.
  void mask(encoding::Value& before, encoding::Value& after) const;
  std::string masked(std::string text) const;
  Error masked(Error failure) const;
  /// The lowest fields that it hides, for the record.
  std::vector<release::DrawnField> fields_in(const ObjectView& objects) const;

 private:
  void add_text(const std::string& text);
  void add_fields(const std::vector<release::DrawnField>& fields, const ObjectView& objects);
  void prepare() { in_texts_ = TextMask({parts_.begin(), parts_.end()}); }

  std::set<std::string, std::less<>> whole_;  // of values
  std::set<std::string, std::less<>> parts_;  // of texts, each as it is and as base64
  TextMask in_texts_;                         // finds parts_
};

/// Hides what the revision's objects, hooks and tests hold of looked-up Secrets, and the secret answers among
/// its values.
void hide_looked_up(release::Revision& revision);

}  // namespace mist::render
