"""Pages of printed text, drawn from a fixed seed, for readers of text."""

import random

COUNT = 20
WORDS = """
water gate channel valve flows north river and the of a pump level canal
meter opens closes stone bridge winter copper mill field harbour quiet
measured invoice letter garden station number seven twelve people between
""".split()
PAPERS = ["white", "#f4e9d0", "#dcebf7", "#e4f3df", "#223344", "#f9d9d9"]


def draw(number):
    """The page of this number, a Pillow image: of one or two columns, in
    letters of 18 to 40 pixels, dark or light, every third one upside down."""
    from PIL import Image, ImageDraw, ImageFont

    drawn = random.Random(number)
    columns = 1 + number % 2
    paper = PAPERS[number % len(PAPERS)]
    width, height = drawn.randrange(500, 1000), drawn.randrange(350, 800)
    page = Image.new("RGB", (width, height), paper)
    canvas = ImageDraw.Draw(page)
    for column in range(columns):
        left, top = 30 + column * width // columns, 25
        right = (column + 1) * width // columns - 20
        while top < height - 60:
            font = ImageFont.load_default(drawn.randrange(18, 41))
            line = drawn.choice(WORDS).capitalize()
            while True:
                more = drawn.choice([*WORDS, f"{drawn.random() * 1000:.2f}"])
                if canvas.textlength(f"{line} {more}", font) > right - left:
                    break
                line = f"{line} {more}"
            ink = "#eeeeee" if paper == "#223344" else drawn.choice(
                ["black", "#202060", "#601010"])
            canvas.text((left, top), line, ink, font)
            top += drawn.randrange(50, 70)
    return page.rotate(180) if number % 3 == 2 else page
