#pragma once
// The small parts of answering over HTTP that the pages and the REST API share. Pure; any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "encoding/value.h"
#include "http/web_server.h"

namespace mist::catalog {

/// The HTTP status that says what an error's kind does.
int status_of(const Error& failure);

http::WebAnswer json(const encoding::Value& value, int status = 200);
http::WebAnswer html(std::string text, int status = 200);
http::WebAnswer nothing(int status);
/// 429 in JSON, with Retry-After.
http::WebAnswer too_often(int seconds);
/// 303: the browser gets `path`, a path of this catalog.
http::WebAnswer see_other(const std::string& path);

Error no_such(std::string_view what, std::string_view name);

/// The parts of a path as they are meant; nullopt: parts that only look like others (".", "..", escaped
/// slashes) are no names of anything here.
std::optional<std::vector<std::string>> parts_of(std::string_view path);

/// Of a query, or of a form in a body.
using Fields = std::multimap<std::string, std::string, std::less<>>;
Fields query_parts(std::string_view query);
/// The first value of that name; empty: there is none.
std::string field(const Fields& fields, std::string_view name);

}  // namespace mist::catalog
