#include "postgres/libpq.h"

#include <dlfcn.h>

#include <string>

namespace mist::postgres {
namespace {

constexpr const char* kFile = "libpq.so.5";

struct Loaded {
  Libpq functions = {};
  std::string problem = {};  // empty: there is none
};

Loaded load() {
  Loaded loaded;
  // Never closed: the connections of other threads are in it until the program ends.
  void* const library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.problem = ::dlerror();
    return loaded;
  }
  const auto find = [&](auto& function, const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) loaded.problem = fmt::format("{} has no {}", kFile, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
#define MIST_FIND(name) find(loaded.functions.name, #name)
  MIST_FIND(PQconninfoParse);
  MIST_FIND(PQconninfoFree);
  MIST_FIND(PQfreemem);
  MIST_FIND(PQconnectStartParams);
  MIST_FIND(PQconnectPoll);
  MIST_FIND(PQconnectionNeedsPassword);
  MIST_FIND(PQfinish);
  MIST_FIND(PQstatus);
  MIST_FIND(PQsocket);
  MIST_FIND(PQtransactionStatus);
  MIST_FIND(PQparameterStatus);
  MIST_FIND(PQerrorMessage);
  MIST_FIND(PQsetErrorVerbosity);
  MIST_FIND(PQsetNoticeProcessor);
  MIST_FIND(PQconsumeInput);
  MIST_FIND(PQisBusy);
  MIST_FIND(PQsetnonblocking);
  MIST_FIND(PQsendQuery);
  MIST_FIND(PQsendPrepare);
  MIST_FIND(PQsendQueryPrepared);
  MIST_FIND(PQflush);
  MIST_FIND(PQgetResult);
  MIST_FIND(PQresultStatus);
  MIST_FIND(PQresultErrorField);
  MIST_FIND(PQclear);
  MIST_FIND(PQntuples);
  MIST_FIND(PQftype);
  MIST_FIND(PQgetisnull);
  MIST_FIND(PQgetvalue);
  MIST_FIND(PQgetlength);
  MIST_FIND(PQcmdTuples);
#undef MIST_FIND
  return loaded;
}

}  // namespace

Result<const Libpq*> libpq() {
  static const Loaded kLoaded = load();
  if (kLoaded.problem.empty()) return &kLoaded.functions;
  return error(ErrorKind::NotFound, "PostgreSQL's client library can't be used")
      .with_because(kLoaded.problem)
      .with_hint("install it: on Debian and Ubuntu the package libpq5, on Fedora libpq");
}

}  // namespace mist::postgres
