#pragma once
// The servers that a URL names, and their addresses, one by one: libpq's own way from one to the next knows
// no time for each. Any thread.

#include <string>
#include <vector>

#include "base/random.h"
#include "base/secret.h"

namespace mist::postgres {

struct Libpq;

/// Values for libpq's parameters host, hostaddr and port; empty: as the URL has it.
struct Host {
  std::string name = {}, address = {}, port = {};

  /// Whether the name may have several addresses.
  bool needs_lookup() const;
  /// For messages: "db (192.0.2.1)"; empty: the URL names none.
  std::string shown() const;
};

struct Hosts {
  std::vector<Host> all = std::vector<Host>(1);  ///< at least one
  bool in_any_order = false;                     ///< load_balance_hosts=random
};

bool is_understood(const Libpq& pq, const SecretString& url);

/// A list that libpq wouldn't take, or whose order has a meaning for it, is left to it.
Hosts hosts_in(const Libpq& pq, const SecretString& url);

void shuffle(std::vector<Host>& hosts, Random& random);

}  // namespace mist::postgres
