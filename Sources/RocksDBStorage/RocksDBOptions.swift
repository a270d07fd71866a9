import CRocksDB
import StorageEngine

/// How a store's files are written and read.
///
/// The memory of a store is bounded by two write buffers, the cache of blocks, the index and filter of each open table
/// (about 1.4 bytes a row), and what a compaction holds of a table until that is complete.
struct RocksDBOptions: ~Copyable {
    /// Rows that are in no table yet. A larger buffer needs fewer compactions, but each search in it takes longer.
    private static let writeBufferBytes = 8 << 20
    /// Blocks that were read lately, uncompressed.
    private static let cacheBytes = 32 << 20
    private static let tableBytes = 8 << 20
    /// Each merge of four written buffers rewrites most of the first level. So that is small.
    private static let firstLevelBytes = 2 * tableBytes
    /// Values from this size on are in files of their own: a search for a row reads and unpacks the whole block that it is
    /// in, with all values there.
    private static let blobBytes = 16 << 10
    private static let blobFileBytes = 16 << 20

    let pointer: OpaquePointer

    /// - Throws: `StorageError` if the installed RocksDB doesn't know an option.
    init(creating: Bool, directory: String) throws(StorageError) {
        guard let base = rocksdb_options_create() else { throw StorageError.noMemory }
        defer { rocksdb_options_destroy(base) }
        guard let options = rocksdb_options_create() else { throw StorageError.noMemory }
        do {
            try calling(directory) { rocksdb_get_options_from_string(base, Self.text, options, $0) }
        } catch {
            rocksdb_options_destroy(options)
            throw StorageError(
                .unavailable,
                "the installed RocksDB can't keep the store \(directory) as this program does, which needs version 7.8 or one "
                    + "that knows its options (\(error.message))")
        }
        rocksdb_options_set_create_if_missing(options, creating ? 1 : 0)
        rocksdb_options_set_error_if_exists(options, creating ? 1 : 0)
        // What RocksDB tells of itself; errors are reported by its functions.
        rocksdb_options_set_info_log_level(options, 3)
        pointer = options
    }

    deinit { rocksdb_options_destroy(pointer) }

    /// The options by RocksDB's own names.
    ///
    /// - Logs have been checked before they are opened, see ``RocksDBLog``: each ends with a whole commit. A store without
    ///   one of the logs that it once synced isn't opened.
    /// - Filters tell for nearly each missing key that it is missing, in tables and in the write buffer: the store looks
    ///   for many documents and index entries that don't exist.
    /// - There are no filters of prefixes: the parts of our keys differ in length, so no fixed number of bytes fits.
    ///   Where one did, a scan that found nothing took 3 µs instead of 8; one that finds something reads all the same.
    /// - Indexes and filters aren't in the cache of blocks. As a whole they don't fit into a shard of it, and each
    ///   search reads them again. In parts, with the same memory in total, gets took 1.2 to 1.4 × the CPU, queries up
    ///   to 1.6 ×.
    /// - A table's index has only the differences of most keys, which take a fifth of the memory.
    /// - The list of files is read whole before each start, so RocksDB replaces it once it is long.
    /// - Large values are copied when their keys are merged, as small ones are, so that replaced ones leave nothing behind.
    private static let text = [
        "wal_recovery_mode=kAbsoluteConsistency",
        "track_and_verify_wals_in_manifest=true",
        "paranoid_checks=true",
        "write_buffer_size=\(writeBufferBytes)",
        "max_write_buffer_number=2",
        "memtable_prefix_bloom_size_ratio=0.05",
        "memtable_whole_key_filtering=true",
        "target_file_size_base=\(tableBytes)",
        "max_bytes_for_level_base=\(firstLevelBytes)",
        "compression=kLZ4Compression",
        "enable_blob_files=true",
        "min_blob_size=\(blobBytes)",
        "blob_file_size=\(blobFileBytes)",
        "blob_compression_type=kLZ4Compression",
        "enable_blob_garbage_collection=true",
        "blob_garbage_collection_age_cutoff=1.0",
        "max_background_jobs=2",
        "max_open_files=512",
        "bytes_per_sync=1048576",
        "keep_log_file_num=2",
        "max_log_file_size=1048576",
        "max_manifest_file_size=33554432",
        "stats_dump_period_sec=0",
        "stats_persist_period_sec=0",
        "block_based_table_factory={block_size=4096;block_cache=\(cacheBytes);format_version=5;checksum=kXXH3;"
            + "index_block_restart_interval=16;filter_policy=bloomfilter:10:false}",
    ].joined(separator: ";")
}
