// References to packages, repositories and servers: what is one prints to itself, and leads nowhere else.
#include "kube/client.h"
#include "oci/reference.h"
#include "registry/git_url.h"
#include "registry/reference.h"
#include "registry/submodules.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

void check_package(std::string_view text) {
  using registry::PackageRef;
  const auto reference = PackageRef::parse(text);
  if (!reference.ok()) return check_error(reference.error());
  const auto again = PackageRef::parse(reference->to_string());
  if (!again.ok()) fail("the printed form is none", reference->to_string() + ": " + again.error().to_line());
  if (*again != *reference) fail("the printed form means something else", reference->to_string());
  if (const auto* const named = std::get_if<registry::RegistryRef>(&reference->form());
      named != nullptr && !registry::path_objection(named->path).empty())
    fail("a path that isn't allowed", named->path);
  if (const auto recorded = PackageRef::parse(reference->recorded()); !recorded.ok())
    fail("the recorded form is none", reference->recorded());
  (void)reference->display();
  (void)reference->anchored("/somewhere");
}

void check_oci(std::string_view text) {
  using namespace oci;
  for (const auto& reference : {Reference::parse(text), Reference::parse_destination(text)}) {
    if (!reference.ok()) {
      check_error(reference.error());
      continue;
    }
    const auto again = Reference::parse_destination(reference->str());
    if (!again.ok() || *again != *reference) fail("the printed form means something else", reference->str());
  }
  if (const auto repository = Repository::parse(text); repository.ok()) {
    const auto again = Repository::parse(repository->str());
    if (!again.ok() || *again != *repository)
      fail("the printed form means something else", repository->str());
    (void)repository->name();
  }
  if (const auto host = parse_host(text); host.ok()) {
    const auto again = parse_host(*host);
    if (!again.ok() || *again != *host) fail("the host means something else", *host);
    (void)is_loopback_host(*host);
    (void)api_host(*host);
  }
}

void check_git(std::string_view text) {
  using registry::GitUrl;
  const auto url = GitUrl::parse(text, "/somewhere");
  if (!url.ok()) return check_error(url.error());
  if (url->text().starts_with('-')) fail("an option of git", url->text());
  if (url->text().find("::") != std::string::npos && url->transport() != GitUrl::Transport::File &&
      url->text().find("://") == std::string::npos && url->transport() != GitUrl::Transport::Ssh)
    fail("a helper of git", url->text());
  (void)url->display();
  const auto again = GitUrl::parse(url->text(), "/elsewhere");
  if (!again.ok() || again->text() != url->text()) fail("the address means something else", url->text());
  if (const auto below = registry::submodule_url(*url, text); !below.ok()) check_error(below.error());
}

}  // namespace

void reference(std::string_view bytes) {
  check_package(bytes);
  check_oci(bytes);
  check_oci(std::string(oci::kScheme) + std::string(bytes));
  check_git(bytes);
  if (registry::is_git_ref(bytes) && (bytes.starts_with('-') || bytes.find("..") != std::string_view::npos))
    fail("an option or a range of git", bytes);
}

}  // namespace mist::fuzz
