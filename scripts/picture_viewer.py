"""Make docs/images/inspect.png: the stage viewer with the quickstart's softmax kernel.

python scripts/picture_viewer.py      (needs mlir-cpu, selenium, chromium and chromedriver)
"""

import runpy
import shutil
import tempfile
import time
from pathlib import Path

from selenium import webdriver

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "images" / "inspect.png"
SIZE = (1280, 800)


def main() -> None:
    """Inspect, open the MLIR with the line of the exponential marked, and take the picture."""
    kernel = runpy.run_path(str(ROOT / "examples" / "quickstart.py"))["softmax_kernel"]
    found = kernel.inspect("f32[64,700]", "f32[64,700]", 700, BLOCK=1024, backend="mlir-cpu")
    line = next(line.source for line in found.stages[0].lines if "tl.exp" in line.text)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        with tempfile.TemporaryDirectory() as folder:
            browser.get(found.save(Path(folder) / "page.html").as_uri())
            browser.execute_script(
                "pin(arguments[0], null); open(stages.findIndex(stage => stage.name === 'mlir'))",
                line,
            )
            time.sleep(0.5)
            OUT.parent.mkdir(exist_ok=True)
            browser.save_screenshot(str(OUT))
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
