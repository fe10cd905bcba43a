// Runs all tests of the journal page, one after the other, in one browser.

import "./view.test.mjs";
import "./access.test.mjs";
import "./hostile.test.mjs";
import "./scale.test.mjs";
