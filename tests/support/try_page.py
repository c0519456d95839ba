"""The page to type into, of `report --try` and of `serve`."""


def shown(page):
    """The words and labels in it."""
    words, labels = (page.locator(f"#try-tokens .{kind}").all_inner_texts() for kind in ("word", "tag"))
    return list(zip(words, labels, strict=True))
