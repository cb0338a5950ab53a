#include "package/value_places.h"

#include <optional>

#include "base/text.h"
#include "encoding/schema_message.h"
#include "encoding/schema_place.h"

namespace mist::package {
namespace {

// The values of one input alone.
struct Written {
  const ValuesInput* input;
  Value values;
};

// In the order in which they are merged: a later one wins.
std::vector<Written> written_by(std::span<const ValuesInput> inputs) {
  std::vector<Written> written;
  for (const ValuesFlag kind : kMergeOrder) {
    for (const ValuesInput& input : inputs) {
      if (input.flag != kind) continue;
      auto values = merge_values(std::span(&input, 1), Numbers::AsHelm);
      if (values.ok()) written.push_back({&input, *std::move(values)});
    }
  }
  return written;
}

struct Place {
  std::string words;
  ValuesFlag flag = ValuesFlag::File;
  std::optional<SourceLocation> file = {};
};

// How a number or a boolean is given as text there.
std::string_view as_text(const Place& place) {
  if (place.flag == ValuesFlag::Set) return "; --set-string makes it text";
  return place.file ? "; quotes make it text" : "";
}

std::optional<Place> place_of(const std::vector<Written>& written, std::string_view pointer) {
  if (pointer.empty()) return std::nullopt;
  for (auto each = written.rbegin(); each != written.rend(); ++each) {
    const Value* const value = encoding::at_pointer(each->values, pointer);
    if (value == nullptr) continue;
    const ValuesInput& input = *each->input;
    if (input.flag != ValuesFlag::File)
      return Place{
          fmt::format("{} {}", flag_name(input.flag), escape_controls(encoding::set_path_of(pointer))),
          input.flag};
    const encoding::Position at = value->position();
    SourceLocation file{input.text == "-" ? "standard input" : input.text, at.line, at.column, {}};
    std::string words = file.text();
    return Place{std::move(words), ValuesFlag::File, std::move(file)};
  }
  return std::nullopt;
}

}  // namespace

Error with_value_places(Error failure, std::span<const ValuesInput> inputs) {
  const auto* const faults = failure.detail<encoding::ValueFaults>();
  if (faults == nullptr) return failure;
  const std::vector<std::string_view> lines = split(failure.because, '\n');
  if (lines.size() != faults->pointers.size()) return failure;
  const std::vector<Written> written = written_by(inputs);
  std::vector<std::string> placed;
  std::optional<SourceLocation> first;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Place> place = place_of(written, faults->pointers[i]);
    const bool text_wanted = i < faults->text_wanted.size() && faults->text_wanted[i] != 0;
    placed.push_back(
        place ? fmt::format("{} ({}{})", lines[i], place->words, text_wanted ? as_text(*place) : "")
              : std::string(lines[i]));
    if (place && place->file && !first) first = place->file;
  }
  failure.because = join(placed, "\n");
  if (first && !failure.where) failure.where = std::move(first);
  return failure;
}

}  // namespace mist::package
