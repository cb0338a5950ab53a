#include "sigstore/answers.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::sigstore {
namespace {

using encoding::Value;

std::string because_of(const auto& result) { return result.ok() ? std::string() : result.error().because; }

TEST(SigningAnswers, ARefusalIsInItsMessageOrFirstLine) {
  EXPECT_EQ(words_of_refusal(R"({"code":16,"message":"error processing\u001b the token","details":[]})"),
            escape_controls("error processing\x1b the token"));
  EXPECT_EQ(words_of_refusal("bad gateway\nsecond line"), "bad gateway");
  EXPECT_EQ(words_of_refusal("<html><body>502</body></html>"), "");
  EXPECT_EQ(words_of_refusal(R"({"error":1})"), "");
  EXPECT_EQ(words_of_refusal(std::string(5'000, 'x')).size(), 400U);
}

TEST(SigningAnswers, StatusesSayWhatToDo) {
  EXPECT_EQ(kind_of_status(401), ErrorKind::Forbidden);
  EXPECT_EQ(kind_of_status(404), ErrorKind::Invalid);
  EXPECT_EQ(kind_of_status(429), ErrorKind::Retryable);
  EXPECT_EQ(kind_of_status(503), ErrorKind::Retryable);
}

TEST(SigningAnswers, AChainIsThePemOfItsCertificates) {
  constexpr std::string_view kPem = "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n";
  const auto issued = parse_issued(fmt::format(
      R"({{"signedCertificateEmbeddedSct":{{"chain":{{"certificates":["{}","{}"]}}}}}})", kPem, kPem));
  ASSERT_TRUE(issued.ok()) << issued.error().to_line();
  EXPECT_EQ(issued->certificate, std::string(3, '\0'));
  EXPECT_EQ(issued->between.size(), 1U);
  EXPECT_TRUE(issued->has_promise_inside);
  const auto beside = parse_issued(
      fmt::format(R"({{"signedCertificateDetachedSct":{{"chain":{{"certificates":["{}"]}}}}}})", kPem));
  ASSERT_TRUE(beside.ok());
  EXPECT_FALSE(beside->has_promise_inside);
  EXPECT_EQ(because_of(parse_issued("[]")), "it is not a JSON object");
  EXPECT_EQ(because_of(parse_issued("{}")), "it has no chain of 1 to 10 certificates");
  EXPECT_EQ(because_of(parse_issued(R"({"signedCertificateEmbeddedSct":{"chain":{"certificates":["x"]}}})")),
            "a certificate of its chain is not one PEM block");
}

Value rekor1(std::string_view logged = R"({"kind":"dsse","apiVersion":"0.0.1"})") {
  return Value::object(
      {{"body", base64_encode(logged)},
       {"integratedTime", 1'700'000'000},
       {"logID", "00ff"},
       {"logIndex", 12},
       {"verification",
        Value::object({{"signedEntryTimestamp", "c2V0"},
                       {"inclusionProof", Value::object({{"logIndex", 2},
                                                         {"treeSize", 5},
                                                         {"rootHash", "ff00"},
                                                         {"hashes", Value::array({"aa", "bb"})},
                                                         {"checkpoint", "log\n5\n"}})}})}});
}
auto read_rekor1(Value entry) {
  return parse_rekor1_entry(encoding::to_json(Value::object({{"24296fb24b8ad77a", std::move(entry)}})));
}

TEST(SigningAnswers, AnEntryOfRekor1BecomesThatOfABundle) {
  const auto entry = read_rekor1(rekor1());
  ASSERT_TRUE(entry.ok()) << entry.error().to_line();
  EXPECT_EQ(encoding::to_json(*entry),
            R"({"logIndex":"12","logId":{"keyId":"AP8="},"kindVersion":{"kind":"dsse","version":"0.0.1"},)"
            R"("integratedTime":"1700000000","inclusionPromise":{"signedEntryTimestamp":"c2V0"},)"
            R"("inclusionProof":{"logIndex":"2","rootHash":"/wA=","treeSize":"5","hashes":["qg==","uw=="],)"
            R"("checkpoint":{"envelope":"log\n5\n"}},)"
            R"("canonicalizedBody":"eyJraW5kIjoiZHNzZSIsImFwaVZlcnNpb24iOiIwLjAuMSJ9"})");
}

TEST(SigningAnswers, SaysWhatIsWrongWithAnEntryOfRekor1) {
  EXPECT_EQ(because_of(parse_rekor1_entry("{}")), "it has not exactly one entry");
  const auto with = [](std::string_view key, Value value) {
    Value entry = rekor1();
    entry.set(key, std::move(value));
    return because_of(read_rekor1(std::move(entry)));
  };
  EXPECT_EQ(with("body", "%"), "its body is not base64");
  EXPECT_EQ(with("body", "e30="), "its body names no kind and apiVersion");
  EXPECT_EQ(with("logID", "XY"), "its logID, logIndex or integratedTime is missing or invalid");
  EXPECT_EQ(with("logIndex", -1), "its logID, logIndex or integratedTime is missing or invalid");
  EXPECT_EQ(with("verification", Value()), "it has no verification");
  EXPECT_EQ(with("verification", Value::object({{"inclusionProof", Value::object({{"rootHash", "x"}})}})),
            "its inclusion proof is missing or incomplete");
}

TEST(SigningAnswers, AnEntryOfRekor2StaysAsItIs) {
  const std::string logged = base64_encode(R"({"kind":"hashedrekord","apiVersion":"0.0.2"})");
  Value entry = Value::object(
      {{"logIndex", "7"},
       {"logId", Value::object({{"keyId", "AP8="}})},
       {"integratedTime", "0"},
       {"inclusionPromise", Value()},
       {"inclusionProof", Value::object({{"logIndex", "7"},
                                         {"rootHash", "/wA="},
                                         {"treeSize", "8"},
                                         {"hashes", Value::array({"qg=="})},
                                         {"checkpoint", Value::object({{"envelope", "log\n8\n"}})}})},
       {"canonicalizedBody", logged}});
  const auto read = parse_rekor2_entry(encoding::to_json(entry));
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(encoding::to_json(*read),
            R"({"logIndex":"7","logId":{"keyId":"AP8="},"kindVersion":{"kind":"hashedrekord",)"
            R"("version":"0.0.2"},"inclusionProof":{"logIndex":"7","rootHash":"/wA=","treeSize":"8",)"
            R"("hashes":["qg=="],"checkpoint":{"envelope":"log\n8\n"}},"canonicalizedBody":")" +
                logged + R"("})");
  entry.erase("inclusionProof");
  EXPECT_EQ(because_of(parse_rekor2_entry(encoding::to_json(entry))), "it has no inclusionProof");
  entry.set("inclusionProof", Value::object({{"logIndex", "x"}}));
  EXPECT_EQ(because_of(parse_rekor2_entry(encoding::to_json(entry))),
            "its logIndex or treeSize is missing or invalid");
}

TEST(SigningAnswers, TheLocationOfAnEntryIsItsIdAlone) {
  EXPECT_EQ(entry_in_location("/api/v1/log/entries/24296fb24b8ad77a"), "24296fb24b8ad77a");
  EXPECT_EQ(entry_in_location("https://elsewhere.example/x?y=24296fb2"), "");
  EXPECT_EQ(entry_in_location("/api/v1/log/entries/../x"), "");
  EXPECT_EQ(entry_in_location(""), "");
}

TEST(SigningAnswers, GitHubsTokenIsItsValue) {
  EXPECT_EQ(parse_github_token(R"({"value":"a.b.c"})")->reveal(), "a.b.c");
  EXPECT_EQ(because_of(parse_github_token("{}")), "it has no value");
}

}  // namespace
}  // namespace mist::sigstore
