#pragma once
// libyaml's complaints in words that help: what is wrong on this line, and what people usually meant.
// Internal to encoding. Pure; any thread.

#include <yaml.h>

#include <string>

#include "base/error.h"
#include "encoding/source_text.h"

namespace mist::encoding {

/// Invalid, at `mark` (libyaml counts from 0).
Error yaml_error_at(const SourceText& source, yaml_mark_t mark, std::string message, std::string hint = {});

/// The error for a parser whose yaml_parser_parse failed.
Error yaml_parser_error(const SourceText& source, const yaml_parser_t& parser);

}  // namespace mist::encoding
