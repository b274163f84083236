// Unpacks the package's Chromium where it isn't yet, and says where it lies.
import chromium from "@sparticuz/chromium";

console.log(await chromium.executablePath());
