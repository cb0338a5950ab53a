#pragma once
// Certificates for single servers, where Docker, Podman and Helm keep them: authorities that are trusted for
// that server beside the system's, and the client certificate that it gets. Read are, for HOST or HOST:PORT
// as a registry is named (without a port: that of https):
//
//   the first of these directories that exists, as Podman does it:
//     $XDG_CONFIG_HOME/containers/certs.d/HOST, else ~/.config/containers/certs.d/HOST
//     $XDG_CONFIG_HOME/docker/certs.d/HOST, else ~/.config/docker/certs.d/HOST (rootless Docker)
//     /etc/containers/certs.d/HOST
//     /etc/docker/certs.d/HOST
//   then Helm's repositories.yaml: caFile beside those, and certFile with keyFile in place of those, of the
//   chart repository that has the URL, else of one at the same host and port, whose charts lie beside it.
//
// In a directory every *.crt is of authorities, and NAME.cert with NAME.key is a client certificate. A
// certificate belongs to its host and port: redirects, upload addresses and token servers elsewhere get none
// but their own.

#include <vector>

#include "base/fs.h"
#include "config/paths.h"
#include "http/host_tls.h"

namespace mist::registry {

/// Whether servers get client certificates. A server that a package names, and not the user, isn't shown who
/// the user is: as with passwords.
enum class ClientCertificates : bool { Withhold, Present };

/// The directories named certs.d, in the order in which they are asked, whether they exist or not.
std::vector<Path> certificate_directories(const config::Environment& environment);

/// Reads them when a server is asked first, and keeps them. `files` outlives it; any thread. `environment`:
/// the directories are chosen by it at once, and nothing of it is kept. Errors of what it returns: Invalid (a
/// file is missing its partner, isn't PEM, or is a key that everybody may read; each names the file), of
/// FileSystem. A repositories.yaml that can't be read counts as none.
http::FindHostTls host_certificates(const FileSystem& files, const config::Environment& environment,
                                    ClientCertificates clients = ClientCertificates::Present);

}  // namespace mist::registry
