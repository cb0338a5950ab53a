#pragma once
// The meaning of an API server's answer: metav1.Status, bare HTTP statuses and bodies that no API server
// would send, as our errors. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"
#include "http/transport.h"

namespace mist::kube {

/// The request, for messages.
struct Asked {
  std::string verb;    ///< "apply", "list": stands in "cannot apply …"
  std::string object;  ///< "Deployment shop/api"
  std::string server;  ///< "https://127.0.0.1:6443"
  std::string user;    ///< the kubeconfig's user, for hints
  /// Objects of a kind: a 404 of the path means that the kind isn't served (is_not_served()).
  bool objects = false;
};

/// The JSON document of a 2xx answer. Other answers are errors: their kind by HTTP status and reason, their
/// `because` the server's words and causes. Invalid, with an escaped excerpt, when a 2xx body is not JSON
/// object. A value that nests deeper than we read is left out (encoding::kTooDeep).
Result<encoding::Value> decode_answer(const http::Response& response, const Asked& asked);
/// Only the error half: for a response that isn't 2xx.
Error answer_error(const http::Response& response, const Asked& asked);
/// The error of a Status object. `http_status` 0: its own code counts (an ERROR event of a watch).
Error status_error(const encoding::Value& status, int http_status, const Asked& asked);

/// Makes a 422 of the 500 by which API servers answer an apply that doesn't fit the schema (seen with 1.36):
/// an input error, which no retry cures.
void correct_status(http::Response& response);

/// The texts of `Warning: 299 - "text"` headers (RFC 7234, 5.5), unquoted, control characters escaped.
std::vector<std::string> warnings_of(const http::Headers& headers);

}  // namespace mist::kube
