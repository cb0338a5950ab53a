#pragma once
// The functions of libpq that we call. The library is opened when it is first asked for (README.md says why).
// Any thread.

#include <libpq-fe.h>

#include "base/result.h"

namespace mist::postgres {

struct Libpq {
  decltype(&::PQconninfoParse) PQconninfoParse;
  decltype(&::PQconninfoFree) PQconninfoFree;
  decltype(&::PQfreemem) PQfreemem;
  decltype(&::PQconnectStartParams) PQconnectStartParams;
  decltype(&::PQconnectPoll) PQconnectPoll;
  decltype(&::PQconnectionNeedsPassword) PQconnectionNeedsPassword;
  decltype(&::PQfinish) PQfinish;
  decltype(&::PQstatus) PQstatus;
  decltype(&::PQsocket) PQsocket;
  decltype(&::PQtransactionStatus) PQtransactionStatus;
  decltype(&::PQparameterStatus) PQparameterStatus;
  decltype(&::PQerrorMessage) PQerrorMessage;
  decltype(&::PQsetErrorVerbosity) PQsetErrorVerbosity;
  decltype(&::PQsetNoticeProcessor) PQsetNoticeProcessor;
  decltype(&::PQconsumeInput) PQconsumeInput;
  decltype(&::PQisBusy) PQisBusy;
  decltype(&::PQsetnonblocking) PQsetnonblocking;
  decltype(&::PQsendQuery) PQsendQuery;
  decltype(&::PQsendPrepare) PQsendPrepare;
  decltype(&::PQsendQueryPrepared) PQsendQueryPrepared;
  decltype(&::PQflush) PQflush;
  decltype(&::PQgetResult) PQgetResult;
  decltype(&::PQresultStatus) PQresultStatus;
  decltype(&::PQresultErrorField) PQresultErrorField;
  decltype(&::PQclear) PQclear;
  decltype(&::PQntuples) PQntuples;
  decltype(&::PQftype) PQftype;
  decltype(&::PQgetisnull) PQgetisnull;
  decltype(&::PQgetvalue) PQgetvalue;
  decltype(&::PQgetlength) PQgetlength;
  decltype(&::PQcmdTuples) PQcmdTuples;
};

/// NotFound: it isn't installed.
Result<const Libpq*> libpq();

}  // namespace mist::postgres
