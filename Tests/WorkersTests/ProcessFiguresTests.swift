@testable import Workers

#if os(Linux)
    import Foundation
    import Glibc
    import Testing

    @testable import FunctionsHost

    struct ProcessFiguresTests {
        private let own = getpid()

        /// Other tests allocate meanwhile: so much that they don't matter.
        @Test func memoryThatIsWrittenCounts() throws {
            let size = 256 << 20
            let before = try #require(ProcessFigures.memory(own))
            let block = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            #expect(try #require(ProcessFigures.memory(own)) - before < size / 2)
            memset(block, 1, size)
            #expect(try #require(ProcessFigures.memory(own)) - before > size / 2)
            #expect(try #require(ProcessFigures.proportionalMemory(own)) > size / 2)
            munmap(block, size)
        }

        @Test func descentIsReadWhateverTheProgramsName() throws {
            let descent = try #require(ProcessFigures.descent(own))
            #expect(descent.parent == getppid())
            #expect(descent.group == getpgrp())
            #expect(descent.startedAt > 0)
            #expect(ProcessFigures.all().contains(own))
        }

        @Test func nobodyHasNothing() {
            #expect(ProcessFigures.memory(0x3FFF_FFFF) == nil)
            #expect(ProcessFigures.proportionalMemory(0x3FFF_FFFF) == nil)
            #expect(ProcessFigures.descent(0x3FFF_FFFF) == nil)
            #expect(ProcessFigures.openFiles(0x3FFF_FFFF) == nil)
        }
    }
#endif
