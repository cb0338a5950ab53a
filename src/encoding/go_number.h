#pragma once
// Numbers as Go prints and normalises them, because Kubernetes' data passes through encoding/json and go-yaml
// everywhere else. Internal to encoding. Pure functions; any thread.

#include <charconv>
#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::encoding {

/// encoding/json's form: shortest digits that read back equal, 'e' only below 1e-6 and from 1e21 on, "e-7"
/// instead of "e-07". `number` is finite.
void append_json_double(std::string& out, double number);

/// strconv.FormatFloat(number, 'g', -1, 64), as go-yaml writes floats: 'e' below 1e-4 and from 1e6 on.
void append_go_g64(std::string& out, double number);

/// strconv.FormatFloat(number, 'g', -1, 32), with .inf, -.inf and .nan: how sigs.k8s.io/yaml makes a map key
/// of a float.
std::string float_key(double number);

/// The Value that a reader of encoding/json's output gets: 1.0 prints as 1 and so is the integer 1.
Value json_number(double number);

/// Correctly rounded; std::errc::result_out_of_range where no double can hold it, as strconv.ParseFloat says.
/// `text` is a JSON number, or the same with a leading '.' or a trailing '.'.
std::errc parse_double(std::string_view text, double& out);

inline void append_integer(std::string& out, auto number) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  out.append(buffer, end);
}

}  // namespace mist::encoding
