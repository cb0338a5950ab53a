#pragma once
// For tests only: an OCI registry in memory behind a Transport, which counts what it is asked and lies where
// a test wants it to. Clients may use it on any thread; a test reads it after they have ended.

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "http/url.h"
#include "oci/answers.h"
#include "oci/layout.h"
#include "registry/oci_client.h"
#include "testing/fake_transport.h"

namespace mist::registry::testing {

/// Serves https://reg.example for one repository, whatever it is called.
class MemoryRegistry {
 public:
  using Override = std::function<std::optional<http::Response>(const http::Request&)>;

  MemoryRegistry() {
    web.otherwise([this](const http::Request& request, const Context& context) -> Result<http::Response> {
      const std::lock_guard lock(mutex_);
      if (silent) {
        std::this_thread::sleep_until(context.deadline().value());
        return context.check().error();
      }
      if (away) return error(ErrorKind::Retryable, "reg.example does not answer");
      if (before)
        if (std::optional<http::Response> instead = before(request)) return *std::move(instead);
      return answer(request);
    });
  }

  /// The digest of its manifest.
  crypto::Digest publish(const std::string& tag, const oci::Artifact& artifact) {
    for (const oci::Blob& blob : artifact.blobs) blobs[blob.descriptor.digest.str()] = blob.bytes;
    return publish(tag, artifact.manifest);
  }
  crypto::Digest publish(const std::string& tag, const std::string& manifest) {
    const crypto::Digest digest = crypto::sha256(manifest);
    manifests[tag] = manifests[digest.str()] = manifest;
    if (tag != digest.str() && std::ranges::find(tags, tag) == tags.end()) tags.push_back(tag);
    return digest;
  }

  OciClient client(const std::optional<Login>& login = std::nullopt) {
    return OciClient(
        web,
        [login](const std::string&, const std::string&, const Context&) -> Result<std::optional<Login>> {
          return login;
        },
        {.resolve = [this](const std::string&) -> Result<std::vector<std::string>> { return addresses; }});
  }

  /// Another registry that the same clients reach, at https://<host>.
  void reach(const std::string& host, MemoryRegistry& other) {
    before = [host, &other](const http::Request& request) -> std::optional<http::Response> {
      if (!request.url.starts_with(fmt::format("https://{}/", host))) return std::nullopt;
      if (other.before)
        if (std::optional<http::Response> instead = other.before(request)) return instead;
      return other.answer(request);
    };
  }

  std::vector<std::string> asked() const {
    std::vector<std::string> lines;
    for (const http::Request& request : web.requests()) lines.push_back(request.method + " " + request.url);
    return lines;
  }

  mist::testing::FakeTransport web;
  std::map<std::string, std::string> manifests;  ///< by tag and by digest
  std::map<std::string, std::string> blobs;      ///< by digest
  std::vector<std::string> tags;
  Override before;
  std::vector<std::string> addresses{"1.1.1.1"};  ///< of the registry
  bool away = false;
  bool silent = false;       ///< until the time of the one who asks is over; there must be such a time
  bool says_digests = true;  ///< with Docker-Content-Digest, which a registry may leave out

 private:
  static http::Response failed(int status, std::string_view code) {
    return {.status = status, .headers = {}, .body = fmt::format(R"({{"errors":[{{"code":"{}"}}]}})", code)};
  }

  http::Response stored(const std::map<std::string, std::string>& where, const std::string& name,
                        const http::Request& request, std::string_view code) const {
    const auto found = where.find(name);
    if (found == where.end()) return failed(404, code);
    http::Response response{.status = 200, .headers = {}, .body = {}};
    const bool is_index = found->second.find(oci::kIndexType) < found->second.find("manifests");
    response.headers.push_back(
        {"Content-Type", std::string(is_index ? oci::kIndexType : oci::kManifestType)});
    if (says_digests)
      response.headers.push_back({"Docker-Content-Digest", crypto::sha256(found->second).str()});
    if (request.method == "GET") response.body = found->second;
    return response;
  }

  http::Response erase(const std::string& name) {
    const auto found = manifests.find(name);
    if (found == manifests.end()) return failed(404, "MANIFEST_UNKNOWN");
    const std::string bytes = found->second;
    const bool is_tag = std::erase(tags, name) > 0;
    std::erase_if(manifests,
                  [&](const auto& each) { return is_tag ? each.first == name : each.second == bytes; });
    std::erase_if(tags, [&](const std::string& tag) { return !manifests.contains(tag); });
    return {.status = 202, .headers = {}, .body = {}};
  }

  http::Response answer(const http::Request& request) {
    const http::Url url = http::Url::parse(request.url).value_or({});
    if (url.path == "/v2/") return {.status = 200, .headers = {}, .body = "{}"};
    const auto after = [&](std::string_view mark) -> std::optional<std::string> {
      const auto at = url.path.find(mark);
      return at == std::string::npos ? std::nullopt : std::optional(url.path.substr(at + mark.size()));
    };
    if (request.method == "POST") {
      http::Response opened{.status = 202, .headers = {}, .body = {}};
      opened.headers.push_back({"Location", url.path + "id?_state=s"});
      return opened;
    }
    if (after("/tags/list")) {
      std::vector<std::string> quoted;
      for (const std::string& tag : tags) quoted.push_back('"' + tag + '"');
      return {.status = 200, .headers = {}, .body = fmt::format(R"({{"tags":[{}]}})", join(quoted, ","))};
    }
    if (const auto name = after("/manifests/")) {
      if (request.method == "DELETE") return erase(*name);
      if (request.method != "PUT") return stored(manifests, *name, request, "MANIFEST_UNKNOWN");
      publish(*name, request.body);
      return {.status = 201, .headers = {}, .body = {}};
    }
    if (after("/blobs/uploads/")) {
      const std::string digest = percent_decoded(url.query.substr(url.query.find("&digest=") + 8));
      if (crypto::sha256(request.body).str() != digest) return failed(400, "DIGEST_INVALID");
      blobs[digest] = request.body;
      return {.status = 201, .headers = {}, .body = {}};
    }
    if (const auto name = after("/blobs/")) return stored(blobs, *name, request, "BLOB_UNKNOWN");
    return failed(404, "NAME_UNKNOWN");
  }

  std::mutex mutex_;
};

inline std::string authorization_of(const http::Request& request) {
  return request.authorization ? request.authorization->reveal() : "none";
}

inline oci::Repository repository_of(std::string_view text) { return *oci::Repository::parse(text); }

}  // namespace mist::registry::testing
