"""The report of many flights in headless Chromium: it sorts, filters, fits a phone, and asks no other host."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from recordings.spark.html_page import pages
from recordings.spark.report_document import FORMAT, Report
from recordings.spark.verdict import verdict
from tests.support.browser import IN_CHROMIUM, Browser, chromium
from tests.support.spark.report_samples import CALM, with_incidents

pytestmark = IN_CHROMIUM
SHOWN = "[...document.querySelectorAll('table.sortable tbody tr')].filter(row => !row.hidden)"
SEEDS = f"{SHOWN}.map(row => +row.cells[1].innerText)"


def written(place: Path) -> Path:
    """A page of three flights with seeds 7, 30 and 100; the second one has faults."""
    put = msgspec.structs.replace
    flights = [
        put(CALM, run_id="one", seed=7),
        put(with_incidents(), run_id="two", seed=30, title="Faults"),
        put(CALM, run_id="three", seed=100),
    ]
    report = Report(
        format=FORMAT, flightdeck="0", spark="4", flights=[put(one, verdict=verdict(one)) for one in flights]
    )
    for name, text in pages(report).items():
        (place / name).write_text(text, encoding="utf-8")
    return place / "report.html"


async def told(browser: Browser, expression: str) -> Any:  # noqa: ANN401 - whatever JavaScript has
    answer = await browser.do("Runtime.evaluate", expression=expression, returnByValue=True)
    return answer["result"].get("value")


def test_the_table_of_flights_sorts_and_filters(tmp_path: Path) -> None:
    async def script() -> None:
        page = written(tmp_path).as_uri()
        async with chromium(tmp_path / "profile") as browser:
            await browser.do("Network.enable")
            await browser.do("Page.enable")
            await browser.do("Page.navigate", url=page)
            await browser.until_true("document.readyState == 'complete' && document.querySelector('.filter')")
            assert await told(browser, SEEDS) == [7, 30, 100]
            head = "document.querySelectorAll('thead th')[1]"
            await told(browser, f"{head}.click()")
            assert await told(browser, SEEDS) == [100, 30, 7], "by number, the largest first"
            await told(browser, f"{head}.click()")
            assert await told(browser, SEEDS) == [7, 30, 100]
            assert await told(browser, f"{head}.getAttribute('aria-sort')") == "ascending"
            await told(
                browser,
                "const found = document.querySelector('.filter input'); found.value = 'faults two';"
                " found.dispatchEvent(new Event('input'))",
            )
            assert await told(browser, SEEDS) == [30]
            assert await told(browser, "document.querySelector('.filter span').textContent") == "1 of 3"
            await browser.do(
                "Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True
            )
            assert await told(browser, "document.documentElement.scrollWidth <= 400"), "nothing sticks out"
            folded = "document.querySelectorAll('details:not([open])').length"
            assert await told(browser, folded) > 0
            await told(browser, "dispatchEvent(new Event('beforeprint'))")
            assert await told(browser, folded) == 0, "paper has everything"
            await told(browser, "dispatchEvent(new Event('afterprint'))")
            assert await told(browser, folded) > 0
            assert {url.partition(":")[0] for url in browser.asked} == {"file"}, browser.asked

    asyncio.run(script())
