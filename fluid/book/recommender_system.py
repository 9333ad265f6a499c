"""Foretells how somebody rates a film, from what is known of both.

A user has a number, gender, age and job; a film has a number, categories and a
title, which are sequences. Each side becomes 200 numbers: embeddings, layers, a
sum over the categories, a convolution over the title. Five times the cosine of
both is the rating. Ratings are drawn: likings hidden in the job, age and gender
meet what categories and words of a title promise, plus a taste of one's own.

Score: the share of the variance of unseen ratings that is explained, at least
0.75. Ratings are whole numbers from 1 to 5; rounding alone takes 0.07.
"""

import chapter
import numpy as np

import sluice.fluid as fluid

layers = fluid.layers
USERS, FILMS, JOBS, AGES, CATEGORIES, TITLE_WORDS = 80, 60, 8, 7, 9, 40


def user_features():
    inputs, features = [], []
    sizes = {"user": USERS, "gender": 2, "age": AGES, "job": JOBS}
    for name, count in sizes.items():
        size = 32 if name == "user" else 16
        inputs.append(layers.data(f"{name}_id", [1], dtype="int64"))
        embedding = layers.embedding(inputs[-1], [count, size], is_sparse=True)
        features.append(layers.fc(embedding, size))
    return inputs, layers.fc(layers.concat(features, axis=1), 200, act="tanh")


def film_features():
    film = layers.data("film_id", [1], dtype="int64")
    categories = layers.data("categories", [1], dtype="int64", lod_level=1)
    title = layers.data("title", [1], dtype="int64", lod_level=1)
    number = layers.fc(layers.embedding(film, [FILMS, 32], is_sparse=True), 32)
    kinds = layers.sequence_pool(
        layers.embedding(categories, [CATEGORIES, 32], is_sparse=True), "sum"
    )
    words = layers.embedding(title, [TITLE_WORDS, 32], is_sparse=True)
    words = fluid.nets.sequence_conv_pool(
        words, num_filters=32, filter_size=3, act="tanh", pool_type="sum"
    )
    both = layers.concat([number, kinds, words], axis=1)
    return [film, categories, title], layers.fc(both, 200, act="tanh")


def network():
    user_inputs, user = user_features()
    film_inputs, film = film_features()
    rating = layers.data("rating", [1])
    inference = layers.scale(layers.cos_sim(X=user, Y=film), scale=5.0)
    loss = layers.mean(layers.square_error_cost(inference, rating))
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.003).minimize(loss)
    inputs = [*user_inputs, *film_inputs]
    return chapter.Network([*inputs, rating], inputs, [inference], test, [loss])


def ratings():
    random = np.random.default_rng(4)

    def tastes(count, share):
        return share * random.normal(size=(count, 4))

    gender, age, job, own = (
        tastes(*each)
        for each in ((2, 0.5), (AGES, 0.5), (JOBS, 0.7), (USERS, 0.4))
    )
    category, word, film_own = (
        tastes(*each)
        for each in ((CATEGORIES, 0.6), (TITLE_WORDS, 0.4), (FILMS, 0.4))
    )
    users, films = [], []
    for i in range(USERS):
        g, a, j = (random.integers(n) for n in (2, AGES, JOBS))
        users.append(((i, g, a, j), own[i] + gender[g] + age[a] + job[j]))
    for i in range(FILMS):
        kinds = random.choice(CATEGORIES, random.integers(1, 4), replace=False)
        title = random.choice(TITLE_WORDS, random.integers(1, 6))
        taste = film_own[i] + category[kinds].sum(0) + word[title].sum(0)
        films.append(((i, kinds, title), taste))
    samples = []
    for at in random.permutation(USERS * FILMS)[:3600]:
        (user, likes), (film, gives) = users[at // FILMS], films[at % FILMS]
        rating = np.clip(np.rint(3 + 0.8 * likes @ gives), 1, 5)
        samples.append((*user, *film, rating))
    return samples[:3000], samples[3000:]


def explained(outputs, samples):
    rating = np.array([sample[-1] for sample in samples])
    return float(1 - np.mean((outputs[0][:, 0] - rating) ** 2) / rating.var())


TASKS = [
    chapter.Task(
        "recommender_system", network, ratings, explained,
        wanted=0.75, passes=10, batch=50,
        without_onnx="sequence_pool", without_paddle="cos_sim",
    )
]  # fmt: skip

if __name__ == "__main__":
    chapter.main(__doc__, *TASKS)
