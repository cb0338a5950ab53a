#include "postgres/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "postgres/libpq.h"

namespace mist::postgres {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// libpq 16 and newer knows load_balance_hosts.
Hosts hosts_by_libpq_16(const char* order) {
  static std::array<PQconninfoOption, 3> options{};
  static std::string hosts = "db1,db2,db3", balance;
  balance = order;
  options[0] = {};
  options[0].keyword = const_cast<char*>("host");
  options[0].val = hosts.data();
  options[1] = {};
  options[1].keyword = const_cast<char*>("load_balance_hosts");
  options[1].val = balance.data();
  options[2] = {};
  Libpq pq{};
  pq.PQconninfoParse = [](const char*, char**) { return options.data(); };
  pq.PQconninfoFree = [](PQconninfoOption*) {};
  pq.PQfreemem = [](void*) {};
  return hosts_in(pq, SecretString("postgresql://db1,db2,db3/x"));
}

TEST(PostgresHosts, MayBeInAnyOrder) {
  EXPECT_TRUE(hosts_by_libpq_16("random").in_any_order);
  EXPECT_FALSE(hosts_by_libpq_16("disable").in_any_order);
  EXPECT_EQ(hosts_by_libpq_16("random").all.size(), 3U);
}

class Dice final : public Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (std::byte& each : out) each = static_cast<std::byte>(engine_() & 0xffU);
  }

 private:
  std::mt19937 engine_;
};

TEST(PostgresHosts, AreShuffledIntoEachOrder) {
  Dice random;
  std::set<std::string> first;
  for (int i = 0; i < 100; ++i) {
    std::vector<Host> hosts{{.name = "a"}, {.name = "b"}, {.name = "c"}};
    shuffle(hosts, random);
    std::vector<std::string> names;
    for (const Host& each : hosts) names.push_back(each.name);
    ASSERT_THAT(names, UnorderedElementsAre("a", "b", "c"));
    first.insert(names.front());
  }
  EXPECT_THAT(first, UnorderedElementsAre("a", "b", "c"));
}

TEST(PostgresHosts, OnlyNamesAreLookedUp) {
  EXPECT_TRUE((Host{.name = "db"}.needs_lookup()));
  for (const Host& other : {Host{}, Host{.name = "/run/postgresql"}, Host{.name = "@abstract"},
                            Host{.name = "fe80::1%eth0"}, Host{.name = "db", .address = "192.0.2.1"}})
    EXPECT_FALSE(other.needs_lookup()) << other.shown();
}

TEST(PostgresHosts, AreShownWithTheirAddress) {
  EXPECT_THAT(Host{}.shown(), IsEmpty());
  EXPECT_EQ((Host{.name = "db"}.shown()), "db");
  EXPECT_EQ((Host{.address = "192.0.2.1"}.shown()), "192.0.2.1");
  EXPECT_EQ((Host{.name = "192.0.2.1", .address = "192.0.2.1"}.shown()), "192.0.2.1");
  EXPECT_EQ((Host{.name = "db", .address = "192.0.2.1"}.shown()), "db (192.0.2.1)");
}

}  // namespace
}  // namespace mist::postgres
