#pragma once
// The servers that a URL names, one by one: libpq's own way from one to the next knows no time for each. Any
// thread.

#include <string>
#include <vector>

#include "base/secret.h"

namespace mist::postgres {

struct Libpq;

/// Values for libpq's parameters host, hostaddr and port; empty: as the URL has it.
struct Host {
  std::string name = {}, address = {}, port = {};

  /// For messages; empty: the URL names one at most.
  const std::string& shown() const { return name.empty() ? address : name; }
};

/// At least one. A list that libpq wouldn't take, or whose order has a meaning for it, is left to it.
std::vector<Host> hosts_in(const Libpq& pq, const SecretString& url);

}  // namespace mist::postgres
