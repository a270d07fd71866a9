@testable import Workers

#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    @testable import FunctionsHost

    struct ProcessFiguresTests {
        private let own = getpid()

        /// Other tests allocate meanwhile: mostly so little that it doesn't matter.
        @Test(.endsHangs, arguments: [MAP_PRIVATE, MAP_SHARED]) func memoryThatIsWrittenCounts(kind: Int32) throws {
            let size = 256 << 20
            var isCounted = false
            while !isCounted {
                try Task.checkCancellation()
                let before = try #require(ProcessFigures.memory(own))
                let block = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0))
                let mapped = try #require(ProcessFigures.memory(own)) - before
                memset(block, 1, size)
                let written = try #require(ProcessFigures.memory(own)) - before
                #expect(try #require(ProcessFigures.proportionalMemory(own)) > size / 2)
                munmap(block, size)
                isCounted = mapped < size / 2 && written > size / 2
            }
        }

        /// A function could otherwise have any memory: its processes forbid others to read these files.
        @Test func aProcessThatCannotBeMeasuredExactlyCountsWithAllThatItHas() throws {
            let anonymous = Array("Rss:  20 kB\nPss_Anon:          12 kB\n".utf8)
            #expect(ProcessFigures.proportionalMemory(own, rollup: anonymous) == 12 << 10)
            let both = anonymous + Array("Pss_Shmem:          3 kB\n".utf8)
            #expect(ProcessFigures.proportionalMemory(own, rollup: both) == 15 << 10)
            for rollup in [nil, Array("Pss:               12 kB\n".utf8)] {
                #expect(try #require(ProcessFigures.proportionalMemory(own, rollup: rollup)) > 1 << 20)
                #expect(ProcessFigures.proportionalMemory(0x3FFF_FFFF, rollup: rollup) == nil)
            }
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
