#pragma once
// A package's inputs as a form, made from the schema that it declares, and the values that somebody filled
// in. Installing checks all that the schema asks beyond types, choices and bounds. Pure; any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/markup.h"
#include "catalog/model.h"
#include "encoding/value.h"

namespace mist::catalog {

enum class InputType : std::uint8_t {
  Text,
  Integer,
  Number,
  Boolean,
  Choice,  ///< one of `choices`
  Json,    ///< a list, or whatever else has no field of its own
};

struct InputField {
  std::vector<std::string> path;  ///< of keys
  std::string name;               ///< "image.tag", also in the form
  InputType type = InputType::Text;
  std::vector<encoding::Value> choices = {};
  std::string description = {};
  encoding::Value fallback = {};  ///< its default; null: none
  std::optional<double> least = {}, most = {};
  bool is_needed = false;  ///< required, and has no default
  bool is_secret = false;  ///< has no place in the address of a page: no field is offered
};

struct InputForm {
  std::vector<InputField> fields = {};  ///< in the order of the schema; objects as their members
  std::size_t left_out = 0;             ///< inputs beyond the first 100, or 512 KiB of words
  bool has_more = false;                ///< and there are more of them, which nobody counted
};
InputForm input_form(const PackageFacts& facts);

using FormAnswers = std::multimap<std::string, std::string, std::less<>>;

struct FilledInputs {
  encoding::Value values = encoding::Value::object();  ///< of the fields that aren't empty and have no fault
  std::map<std::string, std::string> faults = {};      ///< by the field's name, what is wrong
  std::vector<std::string> open = {};                  ///< fields that need a value and have none
  std::size_t count = 0;                               ///< fields in `values`
};
FilledInputs fill_inputs(const std::vector<InputField>& fields, const FormAnswers& answers);

/// `values` with a text that says so in place of each secret that is needed: a preview shows it as it is.
encoding::Value with_placeholders(const std::vector<InputField>& fields, encoding::Value values);

/// The fields with what was answered, without the form around them.
Markup input_markup(const std::vector<InputField>& fields, const FormAnswers& answers,
                    const FilledInputs& filled);

}  // namespace mist::catalog
