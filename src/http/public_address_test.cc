#include "http/public_address.h"

#include <gtest/gtest.h>

namespace mist::http {
namespace {

TEST(IpAddress, IsNothingElse) {
  for (const char* text : {"1.1.1.1", "127.0.0.1", "::1", "2001:db8::1", "::ffff:10.0.0.1"})
    EXPECT_TRUE(is_ip_address(text)) << text;
  for (const char* text :
       {"", "1.1.1", "01.1.1.1.1", "[::1]", "1.1.1.1:80", "fe80::1%eth0", "a.example", " ::1"})
    EXPECT_FALSE(is_ip_address(text)) << text;
  EXPECT_FALSE(is_ip_address(std::string_view("1.1.1.1\0x", 9)));
}

TEST(PublicAddress, IsOneOfTheInternet) {
  for (const char* address : {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1",
                              "172.32.0.1", "192.167.1.1", "223.255.255.255", "2606:4700::1111",
                              "[2606:4700::1111]", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:0808:0808::1"})
    EXPECT_TRUE(is_public_address(address)) << address;
}

TEST(PublicAddress, IsNoneOfThisMachineAndItsNetworks) {
  for (const char* address : {"127.0.0.1",
                              "127.255.255.254",
                              "0.0.0.0",
                              "10.1.2.3",
                              "100.64.0.1",
                              "100.127.255.255",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.0.1",
                              "192.0.2.1",
                              "198.18.0.1",
                              "224.0.0.1",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "[::1]",
                              "fe80::1",
                              "fc00::1",
                              "fd12::1",
                              "ff02::1",
                              "2001:db8::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "::127.0.0.1",
                              "64:ff9b::7f00:1",
                              "2002:7f00:1::1",
                              "",
                              "a.example",
                              "fe80::1%eth0"})
    EXPECT_FALSE(is_public_address(address)) << address;
}

TEST(PublicHost, IsToldByItsNameAsFarAsThatTells) {
  for (const char* host : {"github.com", "GitHub.com.", "1.1.1.1", "[2606:4700::1111]", "a1.example.org"})
    EXPECT_TRUE(may_be_public_host(host)) << host;
  for (const char* host :
       {"localhost", "LOCALHOST.", "a.localhost", "printer.local", "db", "metadata.google.internal",
        "api.default.svc", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "[::1]", ""})
    EXPECT_FALSE(may_be_public_host(host)) << host;
}

TEST(ThisMachine, IsToldByItsAddressesAndNames) {
  for (const char* host :
       {"localhost", "LocalHost.", "a.localhost", "127.0.0.1", "127.255.1.2", "0.0.0.0", "169.254.169.254",
        "[::1]", "::1", "[::]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[::127.0.0.1]", "[fe80::1]",
        "[fe80::1%25eth0]", "127.1", "2130706433", "0x7f.1", "0x7f000001"})
    EXPECT_TRUE(may_be_this_machine(host)) << host;
  for (const char* host :
       {"registry.example", "db", "10.1.2.3", "192.168.0.1", "[fd12::1]", "[2606:4700::1111]", "8.8.8.8",
        "registry.internal", "localhost.example", "127.example", ""})
    EXPECT_FALSE(may_be_this_machine(host)) << host;
}

}  // namespace
}  // namespace mist::http
