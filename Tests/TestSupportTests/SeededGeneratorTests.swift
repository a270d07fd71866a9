import TestSupport
import Testing

struct SeededGeneratorTests {
    /// A seed in a failure report means the same run tomorrow.
    @Test func numbersOfASeedAreFixed() {
        var generator = SeededGenerator(seed: 1)
        #expect([generator.next(), generator.next()] == [0x910A_2DEC_8902_5CC1, 0xBEEB_8DA1_658E_EC67])
    }
}
