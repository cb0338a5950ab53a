#pragma once
// The pages of administrators: accounts, and what was changed. Pure: data in, HTML out. Any thread.

#include <string>

#include "catalog/account_pages.h"
#include "catalog/account_store.h"
#include "catalog/page_frame.h"

namespace mist::catalog {

std::string admin_page(const PageFrame& frame, const FormState& form, const Slice<AccountDetails>& accounts);
std::string audit_page(const PageFrame& frame, const AuditFilter& filter, const Slice<AuditEntry>& entries);

}  // namespace mist::catalog
