# Labels a column file like `sparsecrf label`, with libsparsecrf called from Ruby through Fiddle (standard library).
#
#     ruby label.rb LIBRARY MODEL INPUT        LIBRARY: libsparsecrf.so.1
require "fiddle/import"

module Sparsecrf
  extend Fiddle::Importer
  dlload ARGV[0]
  extern "int sparsecrf_abi_version()"
  extern "const char *sparsecrf_error()"
  extern "int sparsecrf_open(const char *path, void *model)"
  extern "void sparsecrf_close(void *model)"
  extern "const char *sparsecrf_label_name(void *model, int label)"
  extern "int sparsecrf_sequence_new(void *model, void *sequence)"
  extern "void sparsecrf_sequence_free(void *sequence)"
  extern "void sparsecrf_clear(void *sequence)"
  extern "int sparsecrf_add(void *sequence, const char *text, size_t size, double value)"
  extern "int sparsecrf_end_token(void *sequence)"
  extern "int sparsecrf_label(void *sequence, void *labels, size_t n)"

  # A model, and one sequence that is reused for every sentence.
  class Tagger
    def initialize(path)
      @model = made { |place| Sparsecrf.sparsecrf_open(path, place) }
      @sequence = made { |place| Sparsecrf.sparsecrf_sequence_new(@model, place) }
    end

    # The best labels of tokens, each a list of columns (or of attributes).
    def label(tokens)
      Sparsecrf.sparsecrf_clear(@sequence)
      tokens.each do |columns|
        columns.each { |text| check Sparsecrf.sparsecrf_add(@sequence, text, text.bytesize, 1.0) }
        check Sparsecrf.sparsecrf_end_token(@sequence)
      end
      found = Fiddle::Pointer.malloc(4 * tokens.size, Fiddle::RUBY_FREE)
      check Sparsecrf.sparsecrf_label(@sequence, found, tokens.size)
      found[0, 4 * tokens.size].unpack("l*").map do |y|
        Sparsecrf.sparsecrf_label_name(@model, y).to_s.force_encoding("UTF-8")
      end
    end

    def close
      Sparsecrf.sparsecrf_sequence_free(@sequence)
      Sparsecrf.sparsecrf_close(@model)
    end

    private

    def check(status)
      raise ArgumentError, Sparsecrf.sparsecrf_error.to_s if status != 0
    end

    # The pointer that a function writes to its last argument.
    def made
      place = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
      check yield(place)
      place.ptr
    end
  end
end

raise "expected ABI 1, found #{Sparsecrf.sparsecrf_abi_version}" unless Sparsecrf.sparsecrf_abi_version == 1

tagger = Sparsecrf::Tagger.new(ARGV[1])
File.read(ARGV[2], encoding: "UTF-8").split(/\n\s*\n/).each do |sentence|
  rows = sentence.lines.map(&:split).reject(&:empty?)
  next if rows.empty?

  rows.zip(tagger.label(rows)) { |row, label| puts [*row, label].join(" ") }
  puts
end
tagger.close
