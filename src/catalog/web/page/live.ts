// The script of every page with a form that has data-live: pages work without it.

import { keepFresh } from "./live_form.ts";
import { walkResults } from "./result_keys.ts";

const liveForm = document.querySelector<HTMLFormElement>("form[data-live]");
const searchField = document.querySelector<HTMLInputElement>("form[data-live] input[type=search]");
if (liveForm) keepFresh(liveForm);
if (searchField) walkResults(searchField);
